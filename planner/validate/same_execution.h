#pragma once

#include <string>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"

namespace sgsim::validate {

inline constexpr double kRounding = 1e-3;

/// Whether `measured` is of what `program` would execute: the program's id, or, where lowering has since changed what it says of a kernel but not what
/// runs for it (operations counted of a bandwidth-bound kernel: ours of that size does none to speak of), everything that the measurement tells of
/// what ran: ranks, their tasks, how often each distinct kernel ran, its case with its shape (bytes of bandwidth-bound kernels to 0.1 %; below 4 KiB
/// they are launches), and each communication with its bytes.
/// Empty: it is; else the first difference in words. `optimizer_bytes`: share by which the optimizer's kernels may differ in bytes.
[[nodiscard]] std::string difference_of_execution(const calibrate::ExecutableProgram& program, const calibrate::MeasuredProgram& measured, double optimizer_bytes = kRounding);

}  // namespace sgsim::validate
