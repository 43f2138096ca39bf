#pragma once

#include <span>

namespace sgsim::calibrate {

/// y = fixed + slope * x.
struct Line {
  double fixed = 0.0, slope = 0.0;
  double error = 0.0;  // median relative error of the fit on its own points
  bool operator==(const Line&) const = default;
};

/// The line of least relative error (weights 1/y^2, reweighted towards the least absolute error so that an outlier does
/// not pull it), both terms held at or above zero. Needs two or more points with y > 0 and two different x; fewer give
/// a constant.
[[nodiscard]] Line fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace sgsim::calibrate
