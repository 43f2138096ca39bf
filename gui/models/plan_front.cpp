#include "gui/models/plan_front.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sgsim::gui {

std::vector<bool> frontOf(const std::vector<QPointF>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::pair(points[a].x(), points[a].y()) < std::pair(points[b].x(), points[b].y()); });
  std::vector<bool> front(points.size(), false);
  const QPointF* last = nullptr;  // on the front, with the least y so far
  for (const std::size_t i : order) {
    const QPointF& p = points[i];
    const bool equal = last != nullptr && last->x() == p.x() && last->y() == p.y();
    if (last != nullptr && p.y() >= last->y() && !equal) continue;
    front[i] = true;
    last = &p;
  }
  return front;
}

}  // namespace sgsim::gui
