#include "planner/search/front.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sgsim::search {
namespace {

std::tuple<double, double, double, double> key(const Point& p) { return {p.step_time, p.memory, p.gpus, p.cost}; }

}  // namespace

bool dominates(const Point& a, const Point& b) {
  const bool nowhere_worse = a.step_time <= b.step_time && a.memory <= b.memory && a.gpus <= b.gpus && a.cost <= b.cost;
  return nowhere_worse && key(a) != key(b);
}

std::vector<std::size_t> pareto_front(const std::vector<Point>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(points[a]) < key(points[b]); });
  // A point that dominates another stands before it, so that members so far are all that can.
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool worse = std::any_of(front.begin(), front.end(), [&](std::size_t j) { return dominates(points[j], points[i]) || key(points[j]) == key(points[i]); });
    if (!worse) front.push_back(i);
  }
  return front;
}

}  // namespace sgsim::search
