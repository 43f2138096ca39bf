#pragma once

#include <QPointF>
#include <vector>

namespace sgsim::gui {

/// Which points no other one beats; less is better in both coordinates. Equal points are all on the front.
[[nodiscard]] std::vector<bool> frontOf(const std::vector<QPointF>& points);

}  // namespace sgsim::gui
