#pragma once

#include <array>
#include <functional>
#include <vector>

namespace sgsim::cost::make {

[[nodiscard]] double median(std::vector<double> values);
/// The value below which the share `q` of the values lies (nearest rank).
[[nodiscard]] double quantile(std::vector<double> values, double q);

/// Points with a value each, in N dimensions, for local fits.
template <std::size_t N>
struct Sample {
  std::array<double, N> at{};
  double value = 0.0;
};

struct LocalFit {
  double value = 0.0;
  double nearest = 0.0;  // distance of the nearest sample, in bandwidths
};

/// Robust local linear regression (Cleveland 1979, LOWESS): the `neighbours` nearest samples in distances divided by
/// `bandwidth`, Gaussian weights, reweighted towards least absolute residuals; the fitted value at `at`. The samples must be
/// sorted by their first coordinate.
[[nodiscard]] LocalFit local_fit(const std::vector<Sample<3>>& samples, const std::array<double, 3>& at, const std::array<double, 3>& bandwidth, std::size_t neighbours);

/// Least of `cost` from `start` by the downhill simplex method (Nelder and Mead 1965), `steps` wide at first. Deterministic.
[[nodiscard]] std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& cost, std::vector<double> start, const std::vector<double>& steps, int evaluations);

}  // namespace sgsim::cost::make
