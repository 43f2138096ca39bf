#pragma once

#include <optional>
#include <span>
#include <vector>

namespace sgsim::calibrate {

/// One set of repeated samples, in the unit of the samples (seconds everywhere in this program).
struct Summary {
  int count = 0;        // samples, outliers included
  int outliers = 0;     // farther than kOutlierSpreads spreads from the median
  double median = 0.0;  // of all samples; 0 when count is 0
  double spread = 0.0;  // robust standard deviation: 1.4826 * median absolute deviation; 0 when count < 2
  double least = 0.0, greatest = 0.0;
  bool operator==(const Summary&) const = default;
};

/// A sample is an outlier when |x - median| exceeds this many spreads (and the spread is not zero).
inline constexpr double kOutlierSpreads = 5.0;

/// Total for every n: n = 0 gives zeros, n = 1 a spread of 0.
[[nodiscard]] Summary summarize(std::span<const double> samples);

/// Value at quantile `q` in [0, 1], linear between order statistics (type 7 of Hyndman and Fan); 0 for no samples.
[[nodiscard]] double quantile(std::span<const double> samples, double q);
[[nodiscard]] double median(std::span<const double> samples);

/// Relative change of the median from the first third to the last third of samples in time order: +0.02 means that the
/// machine became 2 % slower while it was measured. Nothing for fewer than six samples.
[[nodiscard]] std::optional<double> drift(std::span<const double> samples_in_time_order);

}  // namespace sgsim::calibrate
