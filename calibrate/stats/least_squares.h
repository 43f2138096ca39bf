#pragma once

#include <functional>
#include <vector>

namespace sgsim::calibrate {

using Vector = std::vector<double>;
/// Fills `residuals` (one a data point, relative errors) for the parameters.
using Residuals = std::function<void(const Vector& parameters, Vector& residuals)>;

struct LeastSquaresOptions {
  double scale = 0.05;       // residuals beyond this count linearly, so that outliers do not pull
  double prior = 0.1;        // how firmly each parameter is held to its start: a move of 1 weighs as a residual of this
  int iterations = 40;
};

/// Parameters of least soft-L1 cost sum 2 s^2 (sqrt(1 + (r/s)^2) - 1), from `start`: Gauss and Newton's steps on reweighted
/// residuals, damped as by Levenberg and Marquardt, with derivatives by differences. Deterministic; never worse than `start`.
/// `count`: number of residuals. Meant for up to some fifty parameters.
[[nodiscard]] Vector least_squares(const Residuals& residuals, std::size_t count, const Vector& start, const LeastSquaresOptions& options);

}  // namespace sgsim::calibrate
