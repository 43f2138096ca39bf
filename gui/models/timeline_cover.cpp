#include "gui/models/timeline_cover.h"

#include <algorithm>

namespace sgsim::gui {
namespace {

void add(Paint& sum, const Paint& paint, double seconds) {
  for (std::size_t k = 0; k < 4; ++k) sum[k] += paint[k] * seconds;
}

/// Adds what a slice shows until `time`; waiting comes before running.
void add_until(Paint& sum, const Slice& s, double time, const Paints& paints) {
  if (time > s.arrival && s.start > s.arrival) add(sum, paints[static_cast<std::size_t>(Category::wait)], std::min(time, s.start) - s.arrival);
  if (time > s.start) add(sum, paints[static_cast<std::size_t>(s.category)], std::min(time, s.end) - s.start);
}

/// The integral at ascending times.
class Reader {
 public:
  Reader(const Row& row, const PaintedRow& painted, const Paints& paints) : slices_(row.slices), painted_(painted), paints_(paints) {}

  Paint at(double time) {
    skip(time);
    while (next_ < slices_.size() && slices_[next_].end <= time) add_until(passed_, slices_[next_], slices_[next_].end, paints_), ++next_;
    Paint sum = passed_;
    if (next_ < slices_.size()) add_until(sum, slices_[next_], time, paints_);
    return sum;
  }

 private:
  /// Goes to the run of slices that `time` is in, by steps that double: the next column is mostly near.
  void skip(double time) {
    const auto& ends = painted_.ends;
    std::size_t run = next_ / PaintedRow::kStride;
    if (run >= ends.size() || ends[run] > time) return;
    std::size_t step = 1;
    while (run + step < ends.size() && ends[run + step] <= time) run += step, step *= 2;
    const auto last = ends.begin() + static_cast<std::ptrdiff_t>(std::min(ends.size(), run + step));
    run = static_cast<std::size_t>(std::upper_bound(ends.begin() + static_cast<std::ptrdiff_t>(run), last, time) - ends.begin());
    if (run == ends.size()) --run;  // the last run is walked
    if (run * PaintedRow::kStride <= next_) return;
    next_ = run * PaintedRow::kStride;
    passed_ = painted_.before[run];
  }

  const std::vector<Slice>& slices_;
  const PaintedRow& painted_;
  const Paints& paints_;
  std::size_t next_ = 0;  // the first slice that ends later
  Paint passed_{};        // of all slices before it
};

}  // namespace

PaintedRow integrate(const Row& row, const Paints& paints) {
  PaintedRow painted;
  Paint sum{};
  for (std::size_t i = 0; i < row.slices.size(); ++i) {
    if (i % PaintedRow::kStride == 0) {
      painted.before.push_back(sum);
      painted.ends.push_back(0.0);
      painted.longest.push_back(0.0);
    }
    const Slice& s = row.slices[i];
    add_until(sum, s, s.end, paints);
    painted.ends.back() = s.end;
    painted.longest.back() = std::max(painted.longest.back(), s.end - s.start);
  }
  return painted;
}

void cover(const Row& row, const PaintedRow& painted, const Paints& paints, double from, double to, int columns, std::vector<Paint>& mixed) {
  mixed.resize(static_cast<std::size_t>(columns));
  const double width = (to - from) / columns, per_second = 1.0 / width;
  Reader reader(row, painted, paints);
  Paint last = reader.at(from);
  for (int c = 0; c < columns; ++c) {
    const Paint now = reader.at(from + (c + 1) * width);
    for (std::size_t k = 0; k < 4; ++k) mixed[static_cast<std::size_t>(c)][k] = (now[k] - last[k]) * per_second;
    last = now;
  }
}

}  // namespace sgsim::gui
