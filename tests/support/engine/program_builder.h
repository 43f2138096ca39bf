#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::testing {

/// Writes a program task by task. Positions of streams are counted here, so that a test can say "after the last of `s`".
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name, double compute_slowdown = 1.0, double transfer_slowdown = 1.0) {
    program_.name = std::move(name);
    program_.compute_slowdown = compute_slowdown;
    program_.transfer_slowdown = transfer_slowdown;
    program_.segments.push_back({.name = name_id("all"), .recompute = {}});
  }

  std::uint16_t stream(const std::string& name) {
    program_.streams.push_back(name);
    issued_.push_back(0);
    return static_cast<std::uint16_t>(program_.streams.size() - 1);
  }

  /// A communication with a closed-form time of `latency` + `wire` / `bandwidth` (SI units).
  std::uint32_t comm(std::uint16_t slot, const std::string& name, double latency, double wire = 0.0, double bandwidth = 1.0,
                     bool inter_node = false, graph::CollectiveOp op = graph::CollectiveOp::all_reduce) {
    lower::Comm comm{.slot = slot, .name = name_id(name), .transfer = {}, .payload = Bytes(wire), .op = op};
    comm.transfer.latency = Seconds(latency);
    comm.transfer.wire_bytes = Bytes(wire);
    comm.transfer.bandwidth = BytesPerSecond(bandwidth);
    comm.transfer.inter_node = inter_node;
    program_.comms.push_back(comm);
    return static_cast<std::uint32_t>(program_.comms.size() - 1);
  }

  /// Host times of the tasks that follow: issue_to_end = host + latency + device.
  ProgramBuilder& host(double host, double latency = 0.0) {
    host_ = host;
    latency_ = latency;
    return *this;
  }

  ProgramBuilder& micro_batch(int index) {
    micro_batch_ = index;
    return *this;
  }

  std::uint32_t compute(std::uint16_t stream, double device, const std::vector<lower::Dependency>& after = {}) {
    return add(lower::TaskKind::compute, stream, device, 0, after);
  }
  std::uint32_t copy(std::uint16_t stream, double device, const std::vector<lower::Dependency>& after = {}) {
    return add(lower::TaskKind::copy, stream, device, 0, after);
  }
  std::uint32_t host_sync(std::uint16_t stream, const std::vector<lower::Dependency>& after) {
    return add(lower::TaskKind::host_sync, stream, 0.0, 0, after);
  }
  std::uint32_t communicate(lower::TaskKind kind, std::uint16_t stream, std::uint32_t comm, const std::vector<lower::Dependency>& after = {}) {
    return add(kind, stream, program_.comms[comm].transfer.time().value(), comm, after);
  }
  std::uint32_t collective(std::uint16_t stream, std::uint32_t comm, const std::vector<lower::Dependency>& after = {}) {
    return communicate(lower::TaskKind::collective, stream, comm, after);
  }

  /// All that `stream` has been given so far.
  [[nodiscard]] lower::Dependency last(std::uint16_t stream) const { return {.stream = stream, .position = issued_[stream]}; }
  [[nodiscard]] const lower::Program& program() const { return program_; }
  [[nodiscard]] lower::Program& program() { return program_; }

 private:
  NameId name_id(const std::string& name) {
    const auto found = std::find(program_.names.begin(), program_.names.end(), name);
    if (found != program_.names.end()) return NameId{static_cast<std::uint32_t>(found - program_.names.begin())};
    program_.names.push_back(name);
    return NameId{static_cast<std::uint32_t>(program_.names.size() - 1)};
  }

  std::uint32_t add(lower::TaskKind kind, std::uint16_t stream, double device, std::uint32_t comm, const std::vector<lower::Dependency>& after) {
    const auto first = static_cast<std::uint32_t>(program_.dependencies.size());
    program_.dependencies.insert(program_.dependencies.end(), after.begin(), after.end());
    program_.tasks.push_back({.kind = kind, .stream = stream, .first_dependency = first, .dependency_count = static_cast<std::uint32_t>(after.size()),
                              .device = Seconds(device), .issue_to_end = Seconds(host_ + latency_ + device), .host = Seconds(host_), .comm = comm,
                              .segment = 0, .micro_batch = micro_batch_});
    ++issued_[stream];
    return static_cast<std::uint32_t>(program_.tasks.size() - 1);
  }

  lower::Program program_;
  std::vector<std::uint32_t> issued_;
  double host_ = 0.0, latency_ = 0.0;
  int micro_batch_ = -1;
};

/// Adds a group of `members` to the workload and to each member's next slot.
inline GroupId add_group(lower::Workload& workload, const std::string& kind, const std::vector<std::uint32_t>& members) {
  const GroupId id{static_cast<std::uint32_t>(workload.groups.size())};
  lower::Group group{.kind = kind, .members = {}};
  for (const std::uint32_t member : members) {
    group.members.push_back(RankId{member});
    workload.ranks[member].groups.push_back(id);
  }
  workload.groups.push_back(std::move(group));
  return id;
}

inline void add_rank(lower::Workload& workload, std::uint32_t program, double speed = 1.0) {
  workload.ranks.push_back({.program = ProgramId{program}, .gpu = GpuId{static_cast<std::uint32_t>(workload.ranks.size())}, .speed = speed, .groups = {}});
}

}  // namespace sgsim::testing
