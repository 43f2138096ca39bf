#include "calibrate/stats/summary.h"

#include <algorithm>
#include <cmath>

namespace sgsim::calibrate {

double quantile(std::span<const double> samples, double q) {
  if (samples.empty()) return 0.0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

Summary summarize(std::span<const double> samples) {
  Summary result;
  result.count = static_cast<int>(samples.size());
  if (samples.empty()) return result;
  result.median = median(samples);
  const auto [least, greatest] = std::minmax_element(samples.begin(), samples.end());
  result.least = *least;
  result.greatest = *greatest;
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double x : samples) deviations.push_back(std::abs(x - result.median));
  result.spread = 1.4826 * median(deviations);  // equals the standard deviation for normal samples
  if (result.spread > 0.0) {
    result.outliers = static_cast<int>(
        std::count_if(deviations.begin(), deviations.end(), [&](double d) { return d > kOutlierSpreads * result.spread; }));
  }
  return result;
}

std::optional<double> drift(std::span<const double> samples) {
  const std::size_t third = samples.size() / 3;
  if (third < 2) return std::nullopt;
  const double first = median(samples.first(third));
  if (first == 0.0) return std::nullopt;
  return median(samples.last(third)) / first - 1.0;
}

}  // namespace sgsim::calibrate
