#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace sgsim::search {

/// The answer of a search after one change of the machine.
struct WhatIf {
  std::string change;              // "twice the GPU memory"
  std::string not_asked;           // why there is no answer: "1 node has no half"; then nothing below is set
  std::optional<Found> best;       // nothing: no plan fits
  std::optional<Figures> same;     // the plan that was best before, where it is still legal and fits
  std::string why_not_same;        // "does not fit", "not legal: batch_divides", "no time left"; empty where `same` is there
  Bytes gpu_memory;                // after the change
  bool complete = true;            // of the search
};

/// Searches again with twice the GPU memory, with half of the nodes of the plan `before`, and with every NIC at half its rate: what they would change, and
/// what they do to `before` if one keeps it. The node counts are those of `axes`, as in the search that found `before`; a change that cannot be made is an
/// answer with its reason. Each takes as long as the search itself; `options.budget` is shared out among them.
[[nodiscard]] std::vector<WhatIf> what_if(const Problem& problem, const Axes& axes, const SearchOptions& options, const Candidate& before);

}  // namespace sgsim::search
