#pragma once

#include <array>
#include <vector>

#include "gui/models/timeline_data.h"

namespace sgsim::gui {

/// Red, green, blue and how much of them there is.
using Paint = std::array<double, 4>;
/// Of each category, the last number 1.
using Paints = std::array<Paint, kCategories>;

/// The colours of a row as an integral over time, known at every kStride-th slice, so that the mean colour of any stretch costs
/// two look-ups however many tasks are in it.
struct PaintedRow {
  static constexpr std::size_t kStride = 8;
  std::vector<double> ends;   // of the last slice of each run of kStride
  std::vector<Paint> before;  // the integral up to the run's first slice, colour times seconds
  std::vector<double> longest; // slice of the run, seconds
};

[[nodiscard]] PaintedRow integrate(const Row& row, const Paints& paints);

/// Mean colour of each of `columns` equal stretches of [from, to): colours times their share, and the share that is covered.
void cover(const Row& row, const PaintedRow& painted, const Paints& paints, double from, double to, int columns, std::vector<Paint>& mixed);

}  // namespace sgsim::gui
