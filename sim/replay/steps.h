#pragma once

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// The steps of a rank that have device operations (trace/steps.h); steps without any, and steps by the optimizer's annotations, are told in `report`.
[[nodiscard]] std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, Diagnostics& report);

}  // namespace sgsim::replay
