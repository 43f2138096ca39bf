#include "sim/replay/steps.h"

#include <algorithm>
#include <limits>

namespace sgsim::replay {

std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& dependencies, Diagnostics& report) {
  std::vector<StepWindow> windows;
  constexpr Nanoseconds kEver = std::numeric_limits<Nanoseconds>::max();
  if (!rank.steps.empty()) {
    for (const trace::Step& s : rank.steps) windows.push_back({s.number, s.start, s.start + s.duration});
  } else {
    Nanoseconds from = std::numeric_limits<Nanoseconds>::min();
    for (const trace::HostOp& op : rank.ops) {
      if (op.kind == trace::HostKind::python || run.strings.at(op.name).rfind("Optimizer.step#", 0) != 0) continue;
      windows.push_back({static_cast<std::int64_t>(windows.size()), from, op.start + op.duration});
      from = op.start + op.duration;
    }
    if (!windows.empty()) {
      windows.back().to = kEver;
      report.add("import.replay.steps_by_optimizer", Severity::warning, rank.file, windows.size());
    }
  }
  const auto empty = [&](const StepWindow& w) {
    return std::none_of(dependencies.order.begin(), dependencies.order.end(), [&](std::uint32_t op) { return dependencies.issue[op] >= w.from && dependencies.issue[op] < w.to; });
  };
  windows.erase(std::remove_if(windows.begin(), windows.end(), empty), windows.end());
  return windows;
}

}  // namespace sgsim::replay
