#pragma once

#include "sim/scenario/simulate.h"

namespace sgsim::scenario {

/// The figures of one simulated step. `lowered` may have lost its workload to `simulation`.
[[nodiscard]] Result summarize(const Scenario& scenario, const Inputs& inputs, const lower::Lowered& lowered, const Simulation& simulation);

/// What one real rank does, as its class.
[[nodiscard]] ClassResult rank_result(const lower::Lowered& lowered, const Simulation& simulation, RankId rank);

}  // namespace sgsim::scenario
