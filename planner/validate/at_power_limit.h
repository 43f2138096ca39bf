#pragma once

#include <vector>

#include "planner/validate/executable.h"

namespace sgsim::validate {

/// The clock of each rank's GPU over its full clock when steps follow each other without a pause (sim/cost/power.h), given what the step
/// is at full clock; all 1 without a power model.
[[nodiscard]] std::vector<double> clocks_of(const Prepared& prepared, const cost::Profile& profile);
/// The workload with every kernel as long as it is at its rank's clock. Ranks of one program take the slowest of their clocks.
[[nodiscard]] lower::Workload at_clocks(lower::Workload workload, const std::vector<graph::Work>& works, const cost::Profile& profile, const std::vector<double>& clocks);

}  // namespace sgsim::validate
