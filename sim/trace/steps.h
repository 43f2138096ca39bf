#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// What profilers and our own files call the mark of a step: this and its number.
inline constexpr std::string_view kStepMark = "ProfilerStep#";
[[nodiscard]] std::string step_name(std::int64_t number);  // of a step without number: 0

/// A stretch of the trace that is one step: device operations that the host issued in [from, to).
struct StepWindow {
  std::int64_t number = 0;
  Nanoseconds from = 0, to = 0;
};

/// When the host began to issue a device operation, as far as the file says; else its start.
[[nodiscard]] inline Nanoseconds issued(const RankTrace& rank, const DeviceOp& op) { return op.call != kNone ? rank.calls[op.call].start : op.start; }

/// The steps of a rank: as marked ("ProfilerStep#"); else between the ends of "Optimizer.step#" annotations; else none.
struct Steps {
  std::vector<StepWindow> windows;
  bool by_optimizer = false;
};
[[nodiscard]] Steps find_steps(const ImportedRun& run, const RankTrace& rank);
/// Takes out the steps in which no device operation with a time was issued, and returns how many: they took the device no time, and a mean step is one of the others.
std::size_t leave_out_empty(std::vector<StepWindow>& windows, const RankTrace& rank);
inline constexpr const char* kEmptyLeftOut = "import.steps.empty_left_out";

/// Place in `windows` of the step that a device operation belongs to, or -1.
[[nodiscard]] std::int32_t step_of(const std::vector<StepWindow>& windows, const RankTrace& rank, const DeviceOp& op);

/// Leaves out what follows the last whole step, on all ranks, where a file is cut: a step that lacks kernels would look short. Files list operators
/// before launches and kernels, and these thread by thread, so a cut takes the end of one thread and all of the next ones: a step is whole when each
/// thread with operators in it has calls beyond it (the last step of a cut file therefore never is), and no launch lacks its kernel. Counted in the run's report. A cut file without marks of steps stays
/// as it is, which is counted too. Throws InputError where steps are marked and none is whole.
void keep_whole_steps(ImportedRun& run);

}  // namespace sgsim::trace
