#pragma once

#include <string>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Measured against simulated, a line a step, and where the simulated time of the first rank went.
[[nodiscard]] std::string text_report(const Result& result, const timeline::Timeline& timeline);

/// The simulated timeline as Chrome trace events, of the workload that was simulated (folded or not); `timeline` must hold the spans of all its ranks.
void write_trace(const lower::Workload& workload, const timeline::Timeline& timeline, const std::string& path);

}  // namespace sgsim::replay
