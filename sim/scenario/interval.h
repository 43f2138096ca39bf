#pragma once

#include "sim/scenario/program_totals.h"
#include "sim/scenario/result.h"

namespace sgsim::scenario {

/// The 90 % interval of a step time from the standard errors of its inputs. `result` has its times filled in; `totals`
/// is the mean over its ranks. Assumptions, also printed with the result (interval_assumptions):
/// launches of one kernel err alike; of the variance of different kernels half is common to all (one GPU, one clock, one
/// table) and half is their own; exposed communication errs as the mean of all communication; idle waiting errs as
/// what is waited for; parts are independent; and the model's own error is added.
[[nodiscard]] Interval interval_of(const Result& result, const ProgramTotals& totals);

[[nodiscard]] const char* interval_assumptions();

}  // namespace sgsim::scenario
