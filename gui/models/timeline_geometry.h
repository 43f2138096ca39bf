#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/models/timeline_data.h"

namespace sgsim::gui {

/// Where things stand: times to pixels and rows to pixels. Pixels are logical ones, x from the left edge of the plot.
struct TimelineGeometry {
  double from = 0.0, to = 1.0;      // seconds at the plot's left and right edge
  double width = 800.0;             // of the plot, pixels
  double height = 600.0;            // of the plot, pixels
  double scroll = 0.0;              // pixels above the top edge
  double total = 1.0;               // end of the data, seconds
  double content = 0.0;             // height of all lanes, pixels
  static constexpr double kShortest = 1e-9;  // seconds; deeper zoom shows nothing more

  [[nodiscard]] double x(double time) const { return (time - from) / (to - from) * width; }
  [[nodiscard]] double time(double x) const { return from + x / width * (to - from); }
  [[nodiscard]] double span() const { return to - from; }
  /// Shows `factor` of the present span (0.5: twice as large) and keeps the time at `x` in place.
  void zoom(double factor, double x);
  /// Moves by pixels; positive shows later times and lower rows. Stops at the ends.
  void pan(double dx, double dy);
  void show(double begin, double end);
  void fit();
  void clamp();
  bool operator==(const TimelineGeometry&) const = default;
};

/// A row or a lane's heading on the screen.
struct RowPlace {
  std::uint32_t lane = 0;
  std::optional<std::uint32_t> row;   // nothing: the heading
  double y = 0.0, height = 0.0;       // in content pixels
};

/// Stacks all lanes; `collapsed` lanes show their heading and summary only. `scale` follows the font.
[[nodiscard]] std::vector<RowPlace> place_rows(const TimelineData& data, const std::vector<bool>& collapsed, double scale);

/// Round times for the axis: 1, 2 or 5 times a power of ten apart, about `spacing` pixels from each other.
[[nodiscard]] std::vector<double> axis_times(const TimelineGeometry& geometry, double spacing);

/// The slice at a time on a row; `slack` seconds beside one still count (small slices must be clickable).
[[nodiscard]] std::optional<std::uint32_t> slice_at(const Row& row, double time, double slack);

}  // namespace sgsim::gui
