#pragma once

#include <string>
#include <vector>

#include "sim/scenario/inputs.h"
#include "sim/scenario/variants.h"

namespace sgsim::scenario {

/// A change that makes a scenario fit which does not, and what the fullest rank then reserves.
struct Remedy {
  Variant variant;
  Bytes reserved;
};

/// Such changes, mildest first, at most `most` of them; found by lowering each, none simulated.
[[nodiscard]] std::vector<Remedy> memory_remedies(const Scenario& scenario, InputCache& cache, std::size_t most);

/// What to change, for people; says so when nothing of what was tried fits.
[[nodiscard]] std::string text_report(const std::vector<Remedy>& remedies);

}  // namespace sgsim::scenario
