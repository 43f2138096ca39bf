#include "gui/models/timeline_geometry.h"

#include <algorithm>
#include <cmath>

namespace sgsim::gui {

void TimelineGeometry::clamp() {
  const double widest = std::max(total, kShortest) * 1.02;
  const double span_now = std::clamp(to - from, kShortest, widest);
  from = std::clamp(from, -0.01 * total, std::max(-0.01 * total, 1.01 * total - span_now));
  to = from + span_now;
  scroll = std::clamp(scroll, 0.0, std::max(0.0, content - height));
}

void TimelineGeometry::zoom(double factor, double at) {
  const double fixed = time(at);
  const double wanted = std::clamp(span() * factor, kShortest, std::max(total, kShortest) * 1.02);
  from = fixed - at / width * wanted;
  to = from + wanted;
  clamp();
}

void TimelineGeometry::pan(double dx, double dy) {
  const double shift = dx / width * span();
  from += shift;
  to += shift;
  scroll += dy;
  clamp();
}

void TimelineGeometry::show(double begin, double end) {
  const double margin = std::max((end - begin) * 0.05, kShortest);
  from = begin - margin;
  to = end + margin;
  clamp();
}

void TimelineGeometry::fit() {
  from = -0.005 * total;
  to = 1.005 * total;
  clamp();
}

std::vector<RowPlace> place_rows(const TimelineData& data, const std::vector<bool>& collapsed, double scale) {
  std::vector<RowPlace> places;
  double y = 0.0;
  for (std::uint32_t l = 0; l < data.lanes.size(); ++l) {
    places.push_back({.lane = l, .row = std::nullopt, .y = y, .height = 20.0 * scale});
    y += 20.0 * scale;
    for (std::uint32_t r = 0; r < data.lanes[l].rows.size(); ++r) {
      const bool summary = data.lanes[l].rows[r].summary;
      if (l < collapsed.size() && collapsed[l] && r > 0) break;
      const double height = (summary ? 16.0 : 20.0) * scale;
      places.push_back({.lane = l, .row = r, .y = y, .height = height});
      y += height + 2.0;
    }
    y += 6.0 * scale;
  }
  return places;
}

std::vector<double> axis_times(const TimelineGeometry& g, double spacing) {
  std::vector<double> times;
  const double wanted = std::max(g.span() * spacing / std::max(g.width, 1.0), 1e-12);
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  double step = 10.0 * power;
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * power >= wanted) {
      step = m * power;
      break;
    }
  }
  const auto first = static_cast<std::int64_t>(std::ceil(g.from / step));
  const auto last = static_cast<std::int64_t>(std::floor(g.to / step));
  for (std::int64_t i = first; i <= last && i - first < 1000; ++i) times.push_back(static_cast<double>(i) * step);
  return times;
}

namespace {

/// The first slice that ends after `time`.
std::size_t first_after(const std::vector<Slice>& slices, double time) {
  return static_cast<std::size_t>(std::upper_bound(slices.begin(), slices.end(), time, [](double t, const Slice& s) { return t < s.end; }) - slices.begin());
}

}  // namespace

std::optional<std::uint32_t> slice_at(const Row& row, double time, double slack) {
  const std::size_t i = first_after(row.slices, time);
  const auto distance = [&](std::size_t at) {
    const Slice& s = row.slices[at];
    return time < s.arrival ? s.arrival - time : time > s.end ? time - s.end : 0.0;
  };
  std::optional<std::uint32_t> best;
  for (const std::size_t candidate : {i, i == 0 ? i : i - 1}) {
    if (candidate >= row.slices.size() || distance(candidate) > slack) continue;
    if (!best || distance(candidate) < distance(*best)) best = static_cast<std::uint32_t>(candidate);
  }
  return best;
}

}  // namespace sgsim::gui
