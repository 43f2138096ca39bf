#include "tests/support/engine/random_workload.h"

#include <fmt/format.h>

#include <random>

#include "tests/support/engine/program_builder.h"

namespace sgsim::testing {
namespace {

using lower::TaskKind;

// Slots of every rank. The ring shift sends through `next` and receives through `previous`.
enum Slot : std::uint16_t { tensor, data, forward_in, forward_out, next, previous };

class Writer {
 public:
  explicit Writer(const RandomSize& size) : size_(size), random_(size.seed) {
    for (int s = 0; s < size.stages; ++s) {
      const double compute = size.interference ? factor() : 1.0, transfer = size.interference ? factor() : 1.0;
      stages_.emplace_back(fmt::format("stage {}", s), compute, transfer);
      for (int k = 0; k < size.streams; ++k) stages_.back().stream(fmt::format("stream {}", k));
      for (const char* name : {"host", "shift out", "shift in"}) stages_.back().stream(name);
    }
  }

  lower::Workload write() {
    // Every slot is used at least once by every program that is bound to it, so that none is left over.
    for (int s = 0; s < size_.stages; ++s) {
      collective(s, Slot::tensor);
      collective(s, Slot::data);
      shift(s);
      if (s + 1 < size_.stages) forward(s);
    }
    for (int a = 0; a < size_.actions; ++a) act(pick(0, size_.stages - 1));
    lower::Workload workload;
    for (const ProgramBuilder& b : stages_) workload.programs.push_back(b.program());
    bind(workload);
    return workload;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double factor() { return pick(0, 2) == 0 ? 1.0 : 1.0 + 0.1 * pick(1, 6); }
  double time() { return pick(0, 9) == 0 ? 0.0 : 1e-6 * pick(1, 1000); }
  std::uint16_t stream() { return static_cast<std::uint16_t>(pick(0, size_.streams - 1)); }

  ProgramBuilder& host(int stage) {
    return stages_[static_cast<std::size_t>(stage)].host(pick(0, 3) == 0 ? 1e-6 * pick(1, 200) : 1e-6, pick(0, 1) == 0 ? 0.0 : 5e-6);
  }

  std::vector<lower::Dependency> after(const ProgramBuilder& b) {
    std::vector<lower::Dependency> result;
    for (int d = pick(0, 2); d > 0; --d) {
      const auto s = static_cast<std::uint16_t>(pick(0, size_.streams + 2));
      const lower::Dependency last = b.last(s);
      result.push_back({.stream = s, .position = static_cast<std::uint32_t>(pick(0, static_cast<int>(last.position)))});
    }
    return result;
  }

  std::uint32_t comm(ProgramBuilder& b, std::uint16_t slot, const char* name, double latency, double wire, bool crosses, graph::CollectiveOp op) {
    return b.comm(slot, name, latency, wire, 1e9, crosses && wire > 0.0, op);
  }

  void collective(int stage, Slot slot) {
    ProgramBuilder& b = host(stage);
    const auto op = static_cast<graph::CollectiveOp>(pick(0, 4));
    const auto c = comm(b, slot, "collective", time(), pick(0, 3) == 0 ? 0.0 : 1000.0 * pick(1, 1000), size_.inter_node && pick(0, 1) == 0, op);
    b.collective(stream(), c, after(b));
  }

  void shift(int stage) {
    ProgramBuilder& b = host(stage);
    const double latency = time(), wire = 1000.0 * pick(1, 1000);
    const auto out = b.comm(Slot::next, "send next", latency, wire, 1e9, false, graph::CollectiveOp::send_receive);
    const auto in = b.comm(Slot::previous, "receive previous", latency, wire, 1e9, false, graph::CollectiveOp::send_receive);
    const auto waits = after(b);
    b.communicate(TaskKind::send, static_cast<std::uint16_t>(size_.streams + 1), out, waits);
    b.communicate(TaskKind::receive, static_cast<std::uint16_t>(size_.streams + 2), in, waits);
  }

  void forward(int stage) {
    const double latency = time(), wire = 1000.0 * pick(1, 1000);
    const bool crosses = size_.inter_node && pick(0, 1) == 0;
    ProgramBuilder& from = host(stage);
    const auto out = comm(from, Slot::forward_out, "send", latency, wire, crosses, graph::CollectiveOp::send_receive);
    from.communicate(TaskKind::send, stream(), out, after(from));
    ProgramBuilder& to = host(stage + 1);
    const auto in = comm(to, Slot::forward_in, "receive", latency, wire, crosses, graph::CollectiveOp::send_receive);
    to.communicate(TaskKind::receive, stream(), in, after(to));
  }

  void act(int stage) {
    switch (pick(0, 9)) {
      case 0: collective(stage, Slot::tensor); break;
      case 1: collective(stage, Slot::data); break;
      case 2:
        if (stage + 1 < size_.stages) forward(stage);
        break;
      case 3: shift(stage); break;
      case 4: {
        ProgramBuilder& b = host(stage);
        b.copy(stream(), time(), after(b));
        break;
      }
      case 5: {
        ProgramBuilder& b = host(stage);
        b.host_sync(static_cast<std::uint16_t>(size_.streams), after(b));
        break;
      }
      default: {
        ProgramBuilder& b = host(stage);
        b.compute(stream(), time(), after(b));
        break;
      }
    }
  }

  std::uint32_t rank(int stage, int d, int t) const { return static_cast<std::uint32_t>((stage * size_.data + d) * size_.tensor + t); }

  void group(lower::Workload& workload, const char* kind, const std::vector<std::uint32_t>& members, const std::vector<std::uint16_t>& slots) {
    const GroupId id{static_cast<std::uint32_t>(workload.groups.size())};
    workload.groups.push_back({.kind = kind, .members = {}});
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m == 0 || members[m] != members[0]) workload.groups.back().members.push_back(RankId{members[m]});
      workload.ranks[members[m]].groups[slots[m]] = id;
    }
  }

  void bind(lower::Workload& workload) {
    for (int r = 0; r < size_.stages * size_.data * size_.tensor; ++r) {
      add_rank(workload, static_cast<std::uint32_t>(r / (size_.data * size_.tensor)));
      workload.ranks.back().groups.resize(6);
    }
    const int rotate = pick(0, size_.tensor - 1);
    for (int s = 0; s < size_.stages; ++s) {
      for (int d = 0; d < size_.data; ++d) {
        std::vector<std::uint32_t> members;
        for (int t = 0; t < size_.tensor; ++t) members.push_back(rank(s, d, t));
        group(workload, "tensor", members, std::vector<std::uint16_t>(members.size(), Slot::tensor));
        for (int t = 0; t < size_.tensor; ++t) {
          group(workload, "shift", {rank(s, d, t), rank(s, d, (t + 1) % size_.tensor)}, {Slot::next, Slot::previous});
          if (s + 1 < size_.stages) {
            group(workload, "forward", {rank(s, d, t), rank(s + 1, d, (t + rotate) % size_.tensor)}, {Slot::forward_out, Slot::forward_in});
          }
        }
      }
      for (int t = 0; t < size_.tensor; ++t) {
        std::vector<std::uint32_t> members;
        for (int d = 0; d < size_.data; ++d) members.push_back(rank(s, d, t));
        group(workload, "data", members, std::vector<std::uint16_t>(members.size(), Slot::data));
      }
    }
  }

  RandomSize size_;
  std::mt19937_64 random_;
  std::vector<ProgramBuilder> stages_;
};

}  // namespace

lower::Workload random_workload(const RandomSize& size) { return Writer(size).write(); }

void perturb(lower::Workload& workload, std::uint64_t seed, int changes) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  for (int c = 0; c < changes; ++c) {
    lower::RankBinding& rank = workload.ranks[pick(workload.ranks.size())];
    if (pick(2) == 0) {
      rank.speed = 0.5 + 0.05 * static_cast<double>(pick(10));
      continue;
    }
    lower::Program own = workload.programs[rank.program.value];
    lower::Task& task = own.tasks[pick(own.tasks.size())];
    if (task.kind == TaskKind::compute) {
      task.device *= 1.5;
      task.issue_to_end += task.device / 3.0;
    } else {
      task.host += Seconds(1e-4);
    }
    rank.program = ProgramId{static_cast<std::uint32_t>(workload.programs.size())};
    workload.programs.push_back(std::move(own));
  }
}

void scale(lower::Workload& workload, double k) {
  for (lower::Program& program : workload.programs) {
    for (lower::Task& task : program.tasks) {
      task.device *= k;
      task.issue_to_end *= k;
      task.host *= k;
    }
    for (lower::Comm& comm : program.comms) {
      comm.transfer.latency *= k;
      comm.transfer.bandwidth /= k;
    }
  }
}

lower::Workload permute(const lower::Workload& workload, const std::vector<std::uint32_t>& places) {
  lower::Workload result = workload;
  for (std::size_t r = 0; r < places.size(); ++r) result.ranks[places[r]] = workload.ranks[r];
  for (lower::Group& group : result.groups) {
    for (RankId& member : group.members) member = RankId{places[member.value]};
  }
  return result;
}

}  // namespace sgsim::testing
