#pragma once

#include <string>
#include <vector>

#include "planner/search/candidate.h"
#include "sim/scenario/scenario.h"

namespace sgsim::search {

/// "tp 8 sp, pp 8 1f1b, dp 16 zero1 (25 MiB buckets), micro-batch 1 x 64, recompute none".
[[nodiscard]] std::string short_text(const Candidate& candidate);

/// Settings that turn the scenario into this candidate.
[[nodiscard]] std::vector<scenario::Setting> settings_of(const Candidate& candidate);

/// The settings as flags of `sgsim simulate`, after those that the user `asked` for (without the engine's: plans are ranked by the fast one).
[[nodiscard]] std::string flags_text(const Candidate& candidate, const std::vector<scenario::Setting>& asked = {});

}  // namespace sgsim::search
