#include "planner/validate/shares.h"

#include <algorithm>

namespace sgsim::validate {

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return !(i.second > i.first); });
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.first <= out.back().second) out.back().second = std::max(out.back().second, i.second);
    else out.push_back(i);
  }
  return out;
}

double length(const std::vector<Interval>& intervals) {
  double sum = 0.0;
  for (const auto& [from, to] : intervals) sum += to - from;
  return sum;
}

std::vector<Interval> intersection(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double from = std::max(a[i].first, b[j].first), to = std::min(a[i].second, b[j].second);
    if (to > from) out.emplace_back(from, to);
    if (a[i].second < b[j].second) ++i;
    else ++j;
  }
  return out;
}

std::vector<Interval> without(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> out;
  std::size_t j = 0;
  for (auto [from, to] : a) {
    while (j < b.size() && b[j].second <= from) ++j;
    for (std::size_t k = j; k < b.size() && b[k].first < to; ++k) {
      if (b[k].first > from) out.emplace_back(from, b[k].first);
      from = std::max(from, b[k].second);
    }
    if (to > from) out.emplace_back(from, to);
  }
  return out;
}

Shares shares_of(std::vector<Interval> compute, std::vector<Interval> transfers, std::vector<Interval> waits, double step) {
  const auto computing = merged(std::move(compute)), moving = merged(std::move(transfers)), waiting = merged(std::move(waits));
  Shares s;
  s.compute = Seconds(length(computing));
  s.overlapped = Seconds(length(intersection(moving, computing)));
  s.exposed = Seconds(length(moving)) - s.overlapped;
  s.waiting = Seconds(length(without(without(waiting, moving), computing)));
  s.idle = Seconds(step) - s.compute - s.exposed - s.waiting;
  return s;
}

}  // namespace sgsim::validate
