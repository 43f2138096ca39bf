#pragma once

#include <cstddef>
#include <vector>

namespace sgsim::search {

/// A point of which less is better in every coordinate.
struct Point {
  double step_time = 0.0;   // s
  double memory = 0.0;      // bytes taken (headroom is what is left)
  double gpus = 0.0;
  double cost = 0.0;        // currency a sample; 0 without prices
};

/// `a` is nowhere worse than `b` and somewhere better.
[[nodiscard]] bool dominates(const Point& a, const Point& b);

/// Indices of the points that no other dominates, by step time; of equal points the first.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<Point>& points);

}  // namespace sgsim::search
