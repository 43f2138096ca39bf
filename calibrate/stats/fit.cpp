#include "calibrate/stats/fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/stats/summary.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

struct Sums {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
};

Line solve(const Sums& s) {
  const double determinant = s.w * s.wxx - s.wx * s.wx;
  Line line;
  if (determinant > 1e-12 * s.w * s.wxx) {
    line.slope = (s.w * s.wxy - s.wx * s.wy) / determinant;
    line.fixed = (s.wy - line.slope * s.wx) / s.w;
  } else {
    line.fixed = s.wy / s.w;
  }
  if (line.slope < 0.0) line = {.fixed = s.wy / s.w, .slope = 0.0};
  if (line.fixed < 0.0) line = {.fixed = 0.0, .slope = s.wxy / s.wxx};
  return line;
}

}  // namespace

Line fit_line(std::span<const double> x, std::span<const double> y) {
  SGSIM_CHECK(x.size() == y.size() && !x.empty(), "a line needs points");
  constexpr int kReweightings = 20;
  constexpr double kFloor = 1e-3;  // relative error under which a point's weight grows no further
  std::vector<double> weight(x.size(), 1.0);
  Line line;
  for (int round = 0; round < kReweightings; ++round) {
    Sums s;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double w = weight[i] / (y[i] * y[i]);
      s.w += w;
      s.wx += w * x[i];
      s.wy += w * y[i];
      s.wxx += w * x[i] * x[i];
      s.wxy += w * x[i] * y[i];
    }
    line = solve(s);
    for (std::size_t i = 0; i < x.size(); ++i) {
      weight[i] = 1.0 / std::max(kFloor, std::abs(line.fixed + line.slope * x[i] - y[i]) / y[i]);
    }
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < x.size(); ++i) errors.push_back(std::abs(line.fixed + line.slope * x[i] - y[i]) / y[i]);
  line.error = median(errors);
  return line;
}

}  // namespace sgsim::calibrate
