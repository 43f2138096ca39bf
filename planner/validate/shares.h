#pragma once

#include <utility>
#include <vector>

#include "planner/validate/compare.h"

namespace sgsim::validate {

using Interval = std::pair<double, double>;  // seconds

/// Sorted and merged: no two touch.
[[nodiscard]] std::vector<Interval> merged(std::vector<Interval> intervals);
[[nodiscard]] double length(const std::vector<Interval>& merged_intervals);
/// Both must be merged.
[[nodiscard]] std::vector<Interval> intersection(const std::vector<Interval>& a, const std::vector<Interval>& b);
[[nodiscard]] std::vector<Interval> without(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// Of one rank: runs of kernels, transfers, waits of communications, and the step's length.
[[nodiscard]] Shares shares_of(std::vector<Interval> compute, std::vector<Interval> transfers, std::vector<Interval> waits, double step);

}  // namespace sgsim::validate
