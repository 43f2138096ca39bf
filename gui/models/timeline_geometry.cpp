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
      const double height = (summary ? 12.0 : 20.0) * scale;
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

namespace {

/// Calls `piece(column, category, share)` and `block(column, times, per second)` for all that a row has in [from, to).
template <class Piece, class Block>
void sweep(const Row& row, double from, double to, int columns, Piece piece, Block block) {
  const double column = (to - from) / columns;
  const double per_second = 1.0 / column;
  const auto& slices = row.slices;
  // Splits [a, b) of one category over the columns that it touches.
  const auto add = [&](double a, double b, std::size_t category) {
    a = std::max(a, from);
    b = std::min(b, to);
    if (b <= a) return;
    const int first = std::min(columns - 1, static_cast<int>((a - from) * per_second));
    const int last = std::min(columns - 1, static_cast<int>((b - from) * per_second));
    if (first == last) {
      piece(first, category, static_cast<float>((b - a) * per_second));
      return;
    }
    piece(first, category, static_cast<float>((from + (first + 1) * column - a) * per_second));
    for (int c = first + 1; c < last; ++c) piece(c, category, 1.0f);
    piece(last, category, static_cast<float>((b - (from + last * column)) * per_second));
  };
  for (std::size_t i = first_after(slices, from); i < slices.size() && slices[i].arrival < to;) {
    // A whole block inside one column is added by its sums.
    if (i % kBlock == 0 && i + kBlock <= slices.size()) {
      const Slice& last = slices[i + kBlock - 1];
      const int c = static_cast<int>((slices[i].arrival - from) * per_second);
      if (slices[i].arrival >= from && c < columns && last.end <= from + (c + 1) * column) {
        block(c, row.blocks[i / kBlock], static_cast<float>(per_second));
        i += kBlock;
        continue;
      }
    }
    const Slice& s = slices[i++];
    if (s.start > s.arrival) add(s.arrival, s.start, static_cast<std::size_t>(Category::wait));
    add(s.start, s.end, static_cast<std::size_t>(s.category));
  }
}

}  // namespace

void cover(const Row& row, double from, double to, int columns, std::vector<float>& shares) {
  shares.assign(static_cast<std::size_t>(columns) * kCategories, 0.0f);
  sweep(
      row, from, to, columns, [&](int c, std::size_t category, float share) { shares[static_cast<std::size_t>(c) * kCategories + category] += share; },
      [&](int c, const CategoryTimes& times, float per_second) {
        for (std::size_t k = 0; k < kCategories; ++k) shares[static_cast<std::size_t>(c) * kCategories + k] += times[k] * per_second;
      });
}

void cover(const Row& row, double from, double to, int columns, const Paints& paints, std::vector<std::array<float, 4>>& mixed) {
  mixed.assign(static_cast<std::size_t>(columns), {});
  std::array<float, 4>* const into = mixed.data();
  const auto piece = [&](int c, std::size_t category, float share) {
    for (std::size_t k = 0; k < 4; ++k) into[c][k] += paints[category][k] * share;
  };
  sweep(row, from, to, columns, piece, [&](int c, const CategoryTimes& times, float per_second) {
    for (std::size_t k = 0; k < kCategories; ++k) {
      if (times[k] > 0.0f) piece(c, k, times[k] * per_second);
    }
  });
}

}  // namespace sgsim::gui
