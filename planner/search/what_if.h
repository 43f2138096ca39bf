#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace sgsim::search {

/// The answer of a search after one change of the machine.
struct WhatIf {
  std::string change;              // "twice the GPU memory"
  std::optional<Found> best;       // nothing: no plan fits
  std::optional<Figures> same;     // the plan that was best before, where it is still legal and fits
};

/// Searches again with twice the GPU memory, half of the nodes, and every NIC at half its rate: what they would change, and what
/// they do to the plan `before` if one keeps it. Each takes as long as the search itself; ends early when `options` says so.
[[nodiscard]] std::vector<WhatIf> what_if(const Problem& problem, const Axes& axes, const SearchOptions& options, const Candidate& before);

}  // namespace sgsim::search
