#pragma once

#include <string>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"

namespace sgsim::validate {

inline constexpr double kRounding = 1e-3;
/// Share by which the bytes of fused optimizer kernels may differ in what is still compared: since the first records lowering makes them up to 11 % larger
/// for tensors that reach over many pages (sim/lower/data_parallel/optimizer.cpp).
inline constexpr double kOptimizerBytes = 0.12;

/// Whether `measured` is of what `program` would execute: the program's id, or, where lowering has since changed what it says of a kernel but not what
/// runs for it (operations counted of a bandwidth-bound kernel: ours of that size does none to speak of), everything that the measurement tells of
/// what ran: ranks, their tasks, how often each distinct kernel ran, its case with its shape (bytes of bandwidth-bound kernels to 0.1 %; below 4 KiB
/// they are launches), and each communication with its bytes.
/// Empty: it is; else the first difference in words. `optimizer_bytes`: share by which the optimizer's kernels may differ in bytes.
[[nodiscard]] std::string difference_of_execution(const calibrate::ExecutableProgram& program, const calibrate::MeasuredProgram& measured, double optimizer_bytes = kRounding);

/// Optimizer kernels that ran with other bytes than `program` has now, which must be within kOptimizerBytes.
struct OtherOptimizer {
  int kernels = 0;           // distinct ones, of all ranks
  double most = 0.0;         // largest difference, share of the bytes that ran
  double longer_s = 0.0;     // by which the measured step would be longer now: each takes its time for its bytes; mean over ranks
};
[[nodiscard]] OtherOptimizer other_optimizer(const calibrate::ExecutableProgram& program, const calibrate::MeasuredProgram& measured);

}  // namespace sgsim::validate
