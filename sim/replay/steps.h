#pragma once

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// The steps of a rank that have device operations (trace/steps.h); steps by the optimizer's annotations are told in `report`.
[[nodiscard]] std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& dependencies, Diagnostics& report);

}  // namespace sgsim::replay
