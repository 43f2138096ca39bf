#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace sgsim::cost {

/// Where a value lies on an ascending axis: between nodes `low` and `low + 1`, `weight` of the way in the logarithm; clamped
/// to the ends.
struct AxisPosition {
  std::size_t low = 0;
  double weight = 0.0;
  bool outside = false;
  bool on_node = false;
};

[[nodiscard]] inline AxisPosition locate(std::span<const std::int64_t> axis, std::int64_t value) {
  AxisPosition p;
  if (value <= axis.front() || axis.size() == 1) {
    p.outside = value != axis.front();
    p.on_node = !p.outside;
    return p;
  }
  if (value >= axis.back()) {
    p.low = axis.size() - 2;
    p.weight = 1.0;
    p.outside = value != axis.back();
    p.on_node = !p.outside;
    return p;
  }
  while (axis[p.low + 1] <= value) ++p.low;
  p.on_node = axis[p.low] == value;
  if (!p.on_node) {
    p.weight = std::log(static_cast<double>(value) / static_cast<double>(axis[p.low])) /
               std::log(static_cast<double>(axis[p.low + 1]) / static_cast<double>(axis[p.low]));
  }
  return p;
}

/// Multilinear interpolation over the corners of one cell. `value_at(indices)` gives a corner's value or a NaN where nothing
/// was measured: the other corners then share its weight. `known` is the weight of the corners that have one.
template <std::size_t N>
struct Interpolated {
  double value = 0.0;
  double known = 0.0;
};
template <std::size_t N, class ValueAt>
[[nodiscard]] Interpolated<N> interpolate(const std::array<AxisPosition, N>& position, ValueAt&& value_at) {
  Interpolated<N> result;
  for (unsigned corner = 0; corner < (1U << N); ++corner) {
    double weight = 1.0;
    std::array<std::size_t, N> index{};
    for (std::size_t d = 0; d < N; ++d) {
      const bool high = ((corner >> d) & 1U) != 0;
      weight *= high ? position[d].weight : 1.0 - position[d].weight;
      index[d] = position[d].low + (high ? 1 : 0);
    }
    if (weight <= 0.0) continue;
    const double value = value_at(index);
    if (std::isnan(value)) continue;
    result.value += weight * value;
    result.known += weight;
  }
  if (result.known > 0.0) result.value /= result.known;
  return result;
}

}  // namespace sgsim::cost
