#pragma once

#include <string>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Measured against simulated, a line a step, and where the simulated time of the first rank went.
[[nodiscard]] std::string text_report(const Result& result, const timeline::Timeline& timeline);

/// The simulated timeline as Chrome trace events; `timeline` must hold the spans of all ranks.
void write_trace(const Built& built, const timeline::Timeline& timeline, const std::string& path);

}  // namespace sgsim::replay
