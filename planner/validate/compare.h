#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"
#include "sim/core/quantity.h"
#include "planner/validate/executable.h"

namespace sgsim::validate {

/// A predicted and a measured time. `error`: predicted over measured, less one; 0 where nothing was measured.
struct Pair {
  Seconds predicted, measured;
  [[nodiscard]] double error() const { return measured.value() > 0.0 ? predicted / measured - 1.0 : 0.0; }
};

/// Tasks or kernels of one kind: sums over a step, mean over ranks. `count`: a step and rank, mean.
struct KindRow {
  std::string name;        // "matrix products", "all_reduce dp"
  double count = 0.0;
  Pair time;
};

/// One distinct kernel. Predicted: alone on the GPU at the clock of the profile; measured: as it ran in the steps, median.
struct KernelRow {
  std::string what;        // "matmul 8192 x 4096 x 4096 nt"
  double count = 0.0;      // a step and rank, mean
  Pair time;               // of one launch
};

/// Where a step went on one rank: intervals of its tasks. The two sides are computed by one function from starts and ends.
struct Shares {
  Seconds compute;         // some run of kernels is under way
  Seconds exposed, overlapped;  // communication transfers: without, with computation beside it
  Seconds waiting;         // in communication, before the last member has begun, and no computation
  Seconds idle;            // none of these
};

struct MemoryRow {
  std::string name;
  double predicted_gib = 0.0, measured_gib = 0.0;
};

struct TaskRow {
  std::uint32_t rank = 0, task = 0;
  std::string name, stream;
  double predicted_start = 0.0, predicted_end = 0.0, measured_start = 0.0, measured_end = 0.0;  // seconds from the step's begin
};

struct Comparison {
  std::string name, about, launch;   // "stream" or "graph"
  std::vector<std::string> changes;  // from the scenario that was asked for (scale_to)
  std::string other_optimizer;       // optimizer kernels that ran with other bytes than they have now, in words; empty: none did
  Seconds optimizer_longer;          // by which today's would make the measured step longer (not added to it)
  Pair step;                         // measured: median of the untraced steps
  Seconds traced_step;               // measured with records on
  Pair compute, exposed, overlapped, waiting, idle;  // Shares of both sides, mean over ranks
  std::vector<KindRow> kinds;        // kernels by kind, then communication by name
  std::vector<KernelRow> kernels;    // by predicted time a step, longest first
  double clock = 1.0;                // predicted over full clock, mean over ranks
  Pair gap;                          // mean gap between two kernels of a run
  Pair issue;                        // the host's time to issue a step, slowest rank
  std::vector<MemoryRow> memory;
  std::vector<TaskRow> tasks;
  std::uint64_t numbers = 0, numbers_wrong = 0, waits = 0, waits_violated = 0;
};

/// Compares. `program` must be the one that was made of `prepared` and execute what `measured` was taken of (same_execution.h; bytes of
/// the optimizer's kernels may differ by kOptimizerBytes, and the comparison says so): throws InputError otherwise.
[[nodiscard]] Comparison compare(const calibrate::ExecutableProgram& program, const Prepared& prepared, const calibrate::MeasuredProgram& measured, const std::string& measured_file);

[[nodiscard]] std::string text_report(const Comparison& comparison, const calibrate::MeasuredProgram& measured);
[[nodiscard]] std::string json_report(const Comparison& comparison, const calibrate::MeasuredProgram& measured);
/// Perfetto: a process for each rank predicted and measured, side by side.
void write_trace(const std::string& path, const Comparison& comparison);

}  // namespace sgsim::validate
