#pragma once

#include "sim/cost/profile.h"
#include "sim/scenario/program_totals.h"
#include "sim/scenario/result.h"

namespace sgsim::scenario {

/// The 90 % interval of a step time from the standard errors of its inputs. `result` has its times filled in; `totals`
/// is the mean over its ranks. Assumptions, also printed with the result (interval_assumptions):
/// launches of one kernel err alike; of the variance of different kernels half is common to all (one GPU, one clock, one
/// table) and half is their own; exposed communication errs as the mean of all communication; idle waiting errs as
/// what is waited for; parts are independent; and the model's own error is added, one standard error `model_sigma` of the step.
[[nodiscard]] Interval interval_of(const Result& result, const ProgramTotals& totals, double model_sigma);

/// The model's own relative standard error: the profile's factor "model.sigma", which a profile has whose predictions were compared with
/// runs on its machine; else what other people's runs show (kModelSigma).
[[nodiscard]] double model_sigma_of(const cost::Profile& profile);

/// Published runs of many frameworks, each as far as its page tells: with this, 90 % intervals hold 90 % of a file's rows in the mean over the
/// files of scenarios/records. Leaving out any one file it is 0.11 to 0.14, and holds 86 % of the rows of the files left out.
inline constexpr double kModelSigma = 0.14;

[[nodiscard]] const char* interval_assumptions();

}  // namespace sgsim::scenario
