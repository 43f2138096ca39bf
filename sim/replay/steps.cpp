#include "sim/replay/steps.h"

namespace sgsim::replay {

std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, Diagnostics& report) {
  auto [windows, by_optimizer] = trace::find_steps(run, rank);
  if (by_optimizer) report.add("import.replay.steps_by_optimizer", Severity::warning, rank.file, windows.size());
  const std::size_t empty = trace::leave_out_empty(windows, rank);
  if (empty > 0) report.add(trace::kEmptyLeftOut, Severity::warning, rank.file + ": steps without a kernel, copy or memset", empty);
  return windows;
}

}  // namespace sgsim::replay
