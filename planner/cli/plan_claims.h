#pragma once

#include "planner/search/search.h"
#include "sim/scenario/inputs.h"

namespace sgsim::cli {

/// Gives every plan that will be printed (the best `top` and the Pareto front) to the independent checker. Throws InternalError with its words when it
/// refuses one. `margin`: SearchOptions::memory_margin. Number of plans accepted.
[[nodiscard]] std::size_t check_claims(const scenario::Scenario& scenario, const scenario::Inputs& inputs, const search::SearchResult& result, double margin, std::size_t top);

}  // namespace sgsim::cli
