#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/lower/workload.h"
#include "sim/timeline/timeline.h"
#include "sim/trace/dependencies.h"
#include "sim/trace/match.h"
#include "sim/trace/steps.h"

namespace sgsim::replay {

using trace::Nanoseconds;
inline constexpr std::uint32_t kNoTask = 0xffffffffu;

using trace::StepWindow;

/// What a task of a program is, beside what the engine needs to know.
struct TaskNote {
  Seconds work;                        // time on the device, without the launch gap that the task's `device` holds too
  std::uint32_t device_op = kNoTask;   // of the captured rank: what the task repeats; kNoTask: a host's wait, a message between stages
  std::int32_t step = -1;              // place in the captured rank's steps; -1: outside of all
  bool communication = false;
};

/// Work of the host that runs as a task of its own (untimed.h).
[[nodiscard]] inline bool of_host(const TaskNote& note) { return note.device_op == kNoTask && !note.communication; }

/// Where a program comes from.
struct ProgramNotes {
  std::uint32_t rank = 0;              // of the run
  std::vector<StepWindow> steps;       // those that have tasks; empty: the whole is one step
  std::vector<TaskNote> tasks;
};

/// The programs of an imported run, and where each came from.
struct Built {
  lower::Workload workload;                          // one program a rank of the run
  std::vector<std::vector<std::uint32_t>> task_of;   // by rank, by device operation: its task or kNoTask
  std::vector<ProgramNotes> notes;                   // by rank
  Nanoseconds origin = 0;                            // the first issue of all ranks: time zero of the simulation
  std::vector<Nanoseconds> end;                      // by rank: measured end of the last device operation or host wait
  Diagnostics report;                                // "import.replay.<what>"
};

/// Programs from the recovered order of things: the host's chain of launches with the host's own time between them, streams in order,
/// edges between streams, host waits, and collectives of imported ranks as transfer plus waiting. Durations of kernels are the measured
/// ones; when each starts is left to the simulation. `clocks aligned` is assumed (align_clocks).
/// Throws InputError when a rank has no device operation with times.
[[nodiscard]] Built build_programs(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies);

/// One step, or the whole of a trace, measured and simulated.
struct Compared {
  std::string what;                                  // "step 3", "all"
  double measured_s = 0.0, simulated_s = 0.0;
  /// Nothing where the measured time is not positive (clocks of host and device that disagree): there is nothing to compare with.
  [[nodiscard]] std::optional<double> error() const { return measured_s > 0.0 ? std::optional(simulated_s / measured_s - 1.0) : std::nullopt; }
};
struct Result {
  Compared whole;                                    // from the first issue to the last end over all ranks
  std::vector<Compared> steps;                       // of the first rank that has them: between the ends of the steps' last operations
  double mean_error = 0.0, worst_error = 0.0;        // of |error| over the steps that have one (the whole where there are none)
  std::size_t compared = 0, without_error = 0;       // steps, or the whole, that have an error, and that have none
  /// No step is off by more than `limit` (a fraction), and each has an error.
  [[nodiscard]] bool within(double limit) const { return without_error == 0 && worst_error <= limit; }
  double mean_end_error_s = 0.0;                   // mean distance of a device operation's simulated end from its measured one
};

/// `timeline` must hold the spans of all ranks.
[[nodiscard]] Result compare(const trace::ImportedRun& run, const Built& built, const timeline::Timeline& timeline);

}  // namespace sgsim::replay
