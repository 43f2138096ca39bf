#include "sim/cost/make/robust.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/error.h"

namespace sgsim::cost::make {
namespace {

using Vector4 = std::array<double, 4>;
using Matrix4 = std::array<Vector4, 4>;

/// Solves the symmetric positive definite system by Gaussian elimination with pivots.
Vector4 solve(Matrix4 a, Vector4 b) {
  for (std::size_t c = 0; c < 4; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < 4; ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = c + 1; r < 4; ++r) {
      const double f = a[r][c] / a[c][c];
      for (std::size_t j = c; j < 4; ++j) a[r][j] -= f * a[c][j];
      b[r] -= f * b[c];
    }
  }
  for (std::size_t c = 4; c-- > 0;) {
    for (std::size_t j = c + 1; j < 4; ++j) b[c] -= a[c][j] * b[j];
    b[c] /= a[c][c];
  }
  return b;
}

struct Neighbour {
  double distance = 0.0;
  Vector4 x{1.0, 0.0, 0.0, 0.0};
  double value = 0.0;
};

/// The nearest samples; they are sorted by their first coordinate, so that only a window of them need be looked at: it grows
/// until the ball of its radius holds enough of them.
std::vector<Neighbour> nearest_of(const std::vector<Sample<3>>& samples, const std::array<double, 3>& at, const std::array<double, 3>& bandwidth, std::size_t count) {
  count = std::min(count, samples.size());
  std::vector<std::pair<double, std::size_t>> order;
  for (double radius = 1.5;; radius *= 2.0) {
    order.clear();
    const auto before = [](const Sample<3>& s, double x) { return s.at[0] < x; };
    const auto first = std::lower_bound(samples.begin(), samples.end(), at[0] - radius * bandwidth[0], before);
    const auto last = std::lower_bound(first, samples.end(), at[0] + radius * bandwidth[0] + 1e-9, before);
    const bool everything = first == samples.begin() && last == samples.end();
    for (auto s = first; s != last; ++s) {
      double square = 0.0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double gap = (s->at[d] - at[d]) / bandwidth[d];
        square += gap * gap;
      }
      if (everything || square <= radius * radius) order.emplace_back(square, static_cast<std::size_t>(s - samples.begin()));
    }
    if (order.size() >= count) break;
  }
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<Neighbour> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Sample<3>& s = samples[order[i].second];
    result[i] = {.distance = std::sqrt(order[i].first), .x = {1.0, 0.0, 0.0, 0.0}, .value = s.value};
    for (std::size_t d = 0; d < 3; ++d) result[i].x[d + 1] = (s.at[d] - at[d]) / bandwidth[d];
  }
  return result;
}

Vector4 weighted_fit(const std::vector<Neighbour>& points, const std::vector<double>& weight) {
  constexpr double kRidge = 0.05;  // keeps slopes small where neighbours lie on a line
  Matrix4 a{};
  Vector4 b{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t c = 0; c < 4; ++c) a[r][c] += weight[i] * points[i].x[r] * points[i].x[c];
      b[r] += weight[i] * points[i].x[r] * points[i].value;
    }
  }
  for (std::size_t r = 1; r < 4; ++r) a[r][r] += kRidge;
  return solve(a, b);
}

}  // namespace

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double q) {
  SGSIM_CHECK(!values.empty(), "no values");
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  return values[rank];
}

LocalFit local_fit(const std::vector<Sample<3>>& samples, const std::array<double, 3>& at, const std::array<double, 3>& bandwidth, std::size_t neighbours) {
  constexpr int kReweightings = 4;
  constexpr double kTightness = 0.5, kLeastScale = 0.004;  // of the mean residual; residuals under 0.4 % are noise
  const std::vector<Neighbour> points = nearest_of(samples, at, bandwidth, neighbours);
  SGSIM_CHECK(points.size() >= 4, "too few samples for a local fit");
  const double scale = std::max(1.0, points[2].distance);
  std::vector<double> base(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) base[i] = std::exp(-0.5 * (points[i].distance / scale) * (points[i].distance / scale));
  std::vector<double> weight = base;
  Vector4 fit{};
  for (int round = 0; round <= kReweightings; ++round) {
    fit = weighted_fit(points, weight);
    double sum = 0.0, total = 0.0;
    std::vector<double> residual(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      double value = 0.0;
      for (std::size_t d = 0; d < 4; ++d) value += fit[d] * points[i].x[d];
      residual[i] = std::abs(points[i].value - value);
      sum += residual[i] * base[i];
      total += base[i];
    }
    const double spread = std::max(sum / total, kLeastScale) * kTightness;
    for (std::size_t i = 0; i < points.size(); ++i) weight[i] = base[i] / std::max(1.0, residual[i] / spread);
  }
  return {.value = fit[0], .nearest = points[0].distance};
}

std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& cost, std::vector<double> start, const std::vector<double>& steps, int evaluations) {
  const std::size_t n = start.size();
  std::vector<std::pair<double, std::vector<double>>> simplex;
  int used = 0;
  const auto add = [&](const std::vector<double>& x) { ++used; return std::make_pair(cost(x), x); };
  simplex.push_back(add(start));
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> x = start;
    x[i] += steps[i];
    simplex.push_back(add(x));
  }
  while (used < evaluations) {
    std::sort(simplex.begin(), simplex.end());
    std::vector<double> centre(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t d = 0; d < n; ++d) centre[d] += simplex[i].second[d] / static_cast<double>(n);
    }
    const auto along = [&](double t) {
      std::vector<double> x(n);
      for (std::size_t d = 0; d < n; ++d) x[d] = centre[d] + t * (simplex[n].second[d] - centre[d]);
      return add(x);
    };
    auto reflected = along(-1.0);
    if (reflected.first < simplex[0].first) {
      auto expanded = along(-2.0);
      simplex[n] = std::min(reflected, expanded);
    } else if (reflected.first < simplex[n - 1].first) {
      simplex[n] = reflected;
    } else {
      auto contracted = along(reflected.first < simplex[n].first ? -0.5 : 0.5);
      if (contracted.first < std::min(reflected.first, simplex[n].first)) {
        simplex[n] = contracted;
      } else {
        for (std::size_t i = 1; i <= n; ++i) {
          for (std::size_t d = 0; d < n; ++d) simplex[i].second[d] = 0.5 * (simplex[i].second[d] + simplex[0].second[d]);
          simplex[i] = add(simplex[i].second);
        }
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end())->second;
}

}  // namespace sgsim::cost::make
