#include "tests/support/engine/oracle.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sgsim::testing {
namespace {

using lower::TaskKind;

class Oracle {
 public:
  explicit Oracle(const lower::Workload& workload) : w_(workload) {
    times_.start.resize(w_.ranks.size());
    times_.end.resize(w_.ranks.size());
    for (std::size_t r = 0; r < w_.ranks.size(); ++r) {
      const lower::Program& p = program(r);
      times_.start[r].assign(p.tasks.size(), -1.0);
      times_.end[r].assign(p.tasks.size(), -1.0);
      positions_.emplace_back(p.streams.size());
      std::map<std::uint16_t, std::uint32_t> uses;
      for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        positions_[r][p.tasks[t].stream].push_back(t);
        if (!communicates(p.tasks[t])) continue;
        const std::uint16_t slot = p.comms[p.tasks[t].comm].slot;
        operations_[{w_.ranks[r].groups[slot].value, uses[slot]++}].emplace_back(r, t);
      }
    }
    for (const auto& [key, members] : operations_) {
      for (const auto& member : members) operation_of_[member] = &members;
    }
  }

  OracleTimes run() {
    for (std::size_t r = 0; r < w_.ranks.size(); ++r) {
      for (std::size_t t = 0; t < program(r).tasks.size(); ++t) times_.step = std::max(times_.step, end(r, t));
    }
    return times_;
  }

 private:
  using Place = std::pair<std::size_t, std::size_t>;

  static bool communicates(const lower::Task& task) { return task.kind == TaskKind::collective || task.kind == TaskKind::send || task.kind == TaskKind::receive; }
  const lower::Program& program(std::size_t r) const { return w_.programs[w_.ranks[r].program.value]; }
  const lower::Task& task(std::size_t r, std::size_t t) const { return program(r).tasks[t]; }

  double ready(std::size_t r, std::size_t t) {
    double at = 0.0;
    const auto& stream = positions_[r][task(r, t).stream];
    const auto place = std::find(stream.begin(), stream.end(), t) - stream.begin();
    if (place > 0) at = end(r, stream[static_cast<std::size_t>(place - 1)]);
    for (std::uint32_t d = 0; d < task(r, t).dependency_count; ++d) {
      const lower::Dependency dependency = program(r).dependencies[task(r, t).first_dependency + d];
      if (dependency.position > 0) at = std::max(at, end(r, positions_[r][dependency.stream][dependency.position - 1]));
    }
    return at;
  }

  /// When the host begins to issue the task.
  double issue(std::size_t r, std::size_t t) {
    if (t == 0) return 0.0;
    if (task(r, t - 1).kind == TaskKind::host_sync) return end(r, t - 1);
    return issue(r, t - 1) + task(r, t - 1).host.value();
  }

  double arrival(std::size_t r, std::size_t t) {
    return std::max(ready(r, t), issue(r, t) + task(r, t).issue_to_end.value() - task(r, t).device.value());
  }

  double end(std::size_t r, std::size_t t) {
    double& memory = times_.end[r][t];
    if (memory >= 0.0) return memory;
    double start = 0.0, time = task(r, t).device.value();
    if (task(r, t).kind == TaskKind::host_sync) {
      start = std::max(ready(r, t), issue(r, t));
      time = task(r, t).host.value();
    } else if (communicates(task(r, t))) {
      for (const auto& [rank, other] : *operation_of_.at({r, t})) {
        start = std::max(start, arrival(rank, other));
        time = std::max(time, task(rank, other).device.value());
      }
    } else {
      start = arrival(r, t);
      if (task(r, t).kind == TaskKind::compute) time /= w_.ranks[r].speed;
    }
    times_.start[r][t] = start;
    memory = start + time;
    return memory;
  }

  const lower::Workload& w_;
  OracleTimes times_;
  std::vector<std::vector<std::vector<std::size_t>>> positions_;  // task by rank, stream, position
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Place>> operations_;
  std::map<Place, const std::vector<Place>*> operation_of_;
};

}  // namespace

OracleTimes oracle(const lower::Workload& workload) { return Oracle(workload).run(); }

}  // namespace sgsim::testing
