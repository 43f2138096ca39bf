#include "sim/replay/steps.h"

#include <algorithm>

namespace sgsim::replay {

std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& dependencies, Diagnostics& report) {
  auto [windows, by_optimizer] = trace::find_steps(run, rank);
  if (by_optimizer) report.add("import.replay.steps_by_optimizer", Severity::warning, rank.file, windows.size());
  const auto empty = [&](const StepWindow& w) {
    return std::none_of(dependencies.order.begin(), dependencies.order.end(), [&](std::uint32_t op) {
      const Nanoseconds at = trace::issued(rank, rank.device_ops[op]);
      return at >= w.from && at < w.to;
    });
  };
  windows.erase(std::remove_if(windows.begin(), windows.end(), empty), windows.end());
  return windows;
}

}  // namespace sgsim::replay
