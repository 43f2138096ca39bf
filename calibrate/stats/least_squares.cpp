#include "calibrate/stats/least_squares.h"

#include <cmath>

#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

/// Solves the symmetric positive system a x = b in place (Cholesky); false when it is not positive.
bool solve(Vector& a, Vector& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i != j) {
        a[i * n + j] = sum / a[j * n + j];
      } else if (sum > 0.0) {
        a[i * n + i] = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

class Solver {
 public:
  Solver(const Residuals& residuals, std::size_t count, const Vector& start, const LeastSquaresOptions& options)
      : residuals_(residuals), options_(options), start_(start), x_(start), r_(count), cost_(cost_of(start, r_)) {}

  Vector run() {
    double damping = 1e-3;
    for (int i = 0; i < options_.iterations; ++i) {
      normal_equations();
      const double before = cost_;
      while (!step(damping)) {
        damping *= 8.0;
        if (damping > 1e6) return x_;
      }
      damping = std::max(1e-6, damping / 4.0);
      if (before - cost_ < 1e-7 * before) break;
    }
    return x_;
  }

 private:
  double cost_of(const Vector& x, Vector& r) const {
    residuals_(x, r);
    double cost = 0.0;
    for (const double e : r) cost += 2.0 * options_.scale * options_.scale * (std::sqrt(1.0 + e * e / (options_.scale * options_.scale)) - 1.0);
    for (std::size_t j = 0; j < x.size(); ++j) cost += options_.prior * options_.prior * (x[j] - start_[j]) * (x[j] - start_[j]);
    return std::isfinite(cost) ? cost : std::numeric_limits<double>::infinity();
  }

  void normal_equations() {
    const std::size_t n = x_.size(), m = r_.size();
    constexpr double kStep = 1e-4;  // parameters are logarithms and logits
    Vector jacobian(n * m), moved(m);
    for (std::size_t j = 0; j < n; ++j) {
      Vector x = x_;
      x[j] += kStep;
      residuals_(x, moved);
      for (std::size_t i = 0; i < m; ++i) jacobian[j * m + i] = (moved[i] - r_[i]) / kStep;
    }
    a_.assign(n * n, 0.0);
    b_.assign(n, 0.0);
    Vector weight(m);
    for (std::size_t i = 0; i < m; ++i) weight[i] = 1.0 / std::sqrt(1.0 + r_[i] * r_[i] / (options_.scale * options_.scale));
    const double prior = options_.prior * options_.prior;
    for (std::size_t j = 0; j < n; ++j) {
      const double* left = &jacobian[j * m];
      for (std::size_t i = 0; i < m; ++i) b_[j] -= weight[i] * left[i] * r_[i];
      b_[j] -= prior * (x_[j] - start_[j]);
      for (std::size_t k = 0; k <= j; ++k) {
        const double* right = &jacobian[k * m];
        double sum = 0.0;
        for (std::size_t i = 0; i < m; ++i) sum += weight[i] * left[i] * right[i];
        a_[j * n + k] = a_[k * n + j] = sum;
      }
      a_[j * n + j] += prior;
    }
  }

  /// Takes a damped step when that lowers the cost.
  bool step(double damping) {
    const std::size_t n = x_.size();
    Vector a = a_, move = b_;
    for (std::size_t j = 0; j < n; ++j) a[j * n + j] += damping * a_[j * n + j] + 1e-12;
    if (!solve(a, move)) return false;
    Vector x = x_, r(r_.size());
    for (std::size_t j = 0; j < n; ++j) x[j] += move[j];
    const double cost = cost_of(x, r);
    if (!(cost < cost_)) return false;
    x_ = std::move(x);
    r_ = std::move(r);
    cost_ = cost;
    return true;
  }

  const Residuals& residuals_;
  LeastSquaresOptions options_;
  Vector start_, x_, r_;
  double cost_ = 0.0;
  Vector a_, b_;
};

}  // namespace

Vector least_squares(const Residuals& residuals, std::size_t count, const Vector& start, const LeastSquaresOptions& options) {
  SGSIM_CHECK(count > 0 && !start.empty(), "a fit needs data and parameters");
  return Solver(residuals, count, start, options).run();
}

}  // namespace sgsim::calibrate
