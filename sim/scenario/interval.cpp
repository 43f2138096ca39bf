#include "sim/scenario/interval.h"

#include <cmath>

namespace sgsim::scenario {
namespace {

// 90 % of a normal distribution lie within this many standard errors (two-sided).
constexpr double kStandardErrors = 1.645;
// Share of the variance that different kernels have in common. Assumed: between "all err alike" (1) and "each errs by
// itself" (0); profiles do not carry covariances.
constexpr double kCommonVariance = 0.5;
// Relative standard error of host times. Assumed: hosts differ in clock and in software, and a profile is measured on one.
constexpr double kHostSigma = 0.2;

/// Relative standard error of a sum of kernels.
double kernel_sigma(const std::map<std::string, ProgramTotals::Item>& kernels) {
  double time = 0.0, together = 0.0, apart = 0.0;
  for (const auto& [name, item] : kernels) {
    time += item.time.value();
    together += item.error.value();
    apart += item.error.value() * item.error.value();
  }
  if (time == 0.0) return 0.0;
  return std::sqrt(kCommonVariance * together * together + (1.0 - kCommonVariance) * apart) / time;
}

double mean_sigma(const std::map<std::string, ProgramTotals::Item>& items) {
  double time = 0.0, error = 0.0;
  for (const auto& [name, item] : items) {
    time += item.time.value();
    error += item.error.value();
  }
  return time == 0.0 ? 0.0 : error / time;
}

}  // namespace

double model_sigma_of(const cost::Profile& profile) {
  const auto stated = profile.factors.find("model.sigma");
  return stated == profile.factors.end() ? kModelSigma : stated->second.value;
}

Interval interval_of(const Result& result, const ProgramTotals& totals, double model_sigma) {
  Interval interval;
  const double step = result.step_time.value();
  if (step <= 0.0) return interval;
  // Waiting for another rank ends when that rank's computation does.
  const double computing = (result.compute + result.bubble + result.other_idle).value() / step;
  interval.parts = {{"kernels", kernel_sigma(totals.kernels) * computing},
                    {"communication", mean_sigma(totals.communication) * (result.exposed_comm / result.step_time)},
                    {"host", kHostSigma * (result.host_bound / result.step_time)},
                    {"model", model_sigma}};
  double variance = 0.0;
  for (const auto& [name, sigma] : interval.parts) variance += sigma * sigma;
  interval.relative = kStandardErrors * std::sqrt(variance);
  interval.low = result.step_time / (1.0 + interval.relative);
  interval.high = result.step_time * (1.0 + interval.relative);
  return interval;
}

const char* interval_assumptions() {
  return "90 % interval; launches of one kernel err alike, half of the variance of different kernels is common, host times err by 20 % "
         "(assumed); the model's own part is what compared runs show (docs/check.md)";
}

}  // namespace sgsim::scenario
