#pragma once

#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/lower/workload.h"
#include "sim/scenario/simulate.h"

/// Small programs by hand, for tests of what is made of a timeline.
namespace sgsim::testing {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name, std::vector<std::string> streams = {"compute", "comm"}) {
    program_.name = std::move(name);
    program_.streams = std::move(streams);
  }
  /// A run of kernels on stream 0: (name, seconds) each; the host needs `host` seconds to issue it.
  ProgramBuilder& compute(const std::string& name, std::vector<std::pair<std::string, double>> kernels, double host = 0.0) {
    lower::Segment segment{.name = this->name(name), .first_kernel = static_cast<std::uint32_t>(program_.kernels.size()),
                           .kernel_count = static_cast<std::uint32_t>(kernels.size()), .phase = 0, .recompute = {}};
    double device = 0.0;
    for (const auto& [kernel, seconds] : kernels) {
      device += seconds;
      program_.kernels.push_back({.name = this->name(kernel), .module = this->name("layer." + kernel).value,
                                  .estimate = {.time = Seconds(seconds), .flops = Flops(1e9), .bytes = Bytes(1e6), .bound = cost::Bound::compute,
                                               .source = cost::Source::measured, .sigma = 0.05}});
    }
    program_.segments.push_back(segment);
    add({.kind = lower::TaskKind::compute, .stream = 0, .device = Seconds(device), .issue_to_end = Seconds(host + device), .host = Seconds(host),
         .segment = static_cast<std::uint32_t>(program_.segments.size() - 1), .micro_batch = 0});
    return *this;
  }
  /// A communication on stream 1 through `slot`, after everything so far on stream 0.
  ProgramBuilder& communicate(lower::TaskKind kind, const std::string& name, std::uint16_t slot, double seconds) {
    lower::Comm comm;
    comm.slot = slot;
    comm.name = this->name(name);
    comm.transfer = {.latency = Seconds(seconds), .wire_bytes = {}, .bandwidth = BytesPerSecond(1.0), .algorithm = "ring", .protocol = "Simple",
                     .channels = 1, .inter_node = false, .source = cost::Source::fitted, .sigma = 0.1};
    comm.payload = Bytes(1e6);
    program_.comms.push_back(comm);
    after(0);
    add({.kind = kind, .stream = 1, .device = Seconds(seconds), .issue_to_end = Seconds(seconds), .comm = static_cast<std::uint32_t>(program_.comms.size() - 1)});
    return *this;
  }
  /// The next task waits for everything so far on `stream`.
  ProgramBuilder& after(std::uint16_t stream) {
    pending_.push_back({.stream = stream, .position = count(stream)});
    return *this;
  }
  [[nodiscard]] lower::Program build() const { return program_; }

 private:
  std::uint32_t count(std::uint16_t stream) const {
    std::uint32_t n = 0;
    for (const lower::Task& task : program_.tasks) n += task.stream == stream ? 1 : 0;
    return n;
  }
  NameId name(const std::string& text) {
    for (std::uint32_t i = 0; i < program_.names.size(); ++i) {
      if (program_.names[i] == text) return NameId{i};
    }
    program_.names.push_back(text);
    return NameId{static_cast<std::uint32_t>(program_.names.size() - 1)};
  }
  void add(lower::Task task) {
    task.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
    for (const lower::Dependency& d : pending_) {
      if (d.position > 0) program_.dependencies.push_back(d);
    }
    task.dependency_count = static_cast<std::uint32_t>(program_.dependencies.size()) - task.first_dependency;
    pending_.clear();
    program_.tasks.push_back(task);
  }

  lower::Program program_;
  std::vector<lower::Dependency> pending_;
};

/// Rank i runs programs[i]; one group of all through slot 0.
inline lower::Workload workload_of(std::vector<lower::Program> programs) {
  lower::Workload workload;
  workload.groups.push_back({.kind = "dp", .members = {}});
  for (std::uint32_t i = 0; i < programs.size(); ++i) {
    workload.ranks.push_back({.program = ProgramId{i}, .gpu = GpuId{i}, .speed = 1.0, .groups = {GroupId{0}}});
    workload.groups[0].members.push_back(RankId{i});
  }
  workload.programs = std::move(programs);
  return workload;
}

/// Every rank simulated by the fast engine, every task recorded.
inline scenario::Simulation simulate_all(lower::Workload workload) {
  engine::Folded folded = engine::unfolded(std::move(workload));
  auto timeline = engine::run_fast(folded, {.spans_of = {}, .all_spans = true});
  return {.workload = std::move(folded.workload), .class_of = std::move(folded.class_of), .timeline = std::move(timeline)};
}

}  // namespace sgsim::testing
