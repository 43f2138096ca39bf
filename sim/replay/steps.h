#pragma once

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// The steps of a rank: as marked ("ProfilerStep#"); else between the ends of "Optimizer.step#" annotations (told in `report`); else none.
/// The first begins with the trace, the last ends with it.
[[nodiscard]] std::vector<StepWindow> find_steps(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& dependencies, Diagnostics& report);

}  // namespace sgsim::replay
