#pragma once

#include <optional>

#include "planner/split/work_graph.h"

namespace sgsim::split {

/// The prefix with the fewest crossing bytes among those that hold all of `first` and none of `second` (the smallest such prefix);
/// nothing when `second` comes before `first`. A minimum cut: edges back cost more than everything, a producer's readers share one
/// auxiliary node.
[[nodiscard]] std::optional<Prefix> minimum_cut(const WorkGraph& graph, const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second);

}  // namespace sgsim::split
