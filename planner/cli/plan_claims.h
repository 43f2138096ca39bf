#pragma once

#include <string>
#include <vector>

#include "planner/search/search.h"
#include "planner/search/what_if.h"
#include "sim/scenario/inputs.h"

namespace sgsim::cli {

/// Gives every plan that is printed (the best `top`, the whole Pareto front, and the best of each change) to the independent checker. Throws InternalError with
/// its words when it refuses one. `margin`: SearchOptions::memory_margin. Number of plans accepted; one in two lists counts twice.
[[nodiscard]] std::size_t check_claims(const scenario::Scenario& scenario, const scenario::Inputs& inputs, const search::SearchResult& result, double margin, std::size_t top,
                                       const std::vector<search::WhatIf>& what_if = {});
/// What text_report() printed of that, counted: a line.
[[nodiscard]] std::string claims_text(const search::SearchResult& result, std::size_t top, const std::vector<search::WhatIf>& what_if);

}  // namespace sgsim::cli
