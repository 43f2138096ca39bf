#pragma once

#include <string>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Measured against simulated, a line a step, and where the simulated time of the first rank went.
[[nodiscard]] std::string text_report(const Result& result, const Built& built, const timeline::Timeline& timeline);

/// What a written timeline says beside the simulation.
struct Drawing {
  const trace::ImportedRun& run;             // where kernels and communicators come from
  const lower::Workload& workload;           // that was simulated, folded or not
  const std::vector<ProgramNotes>& notes;    // by program
  bool rescaled = false;                     // ranks are those of another job than the run's
  std::string sizes;                         // "dp 2 tp 4 pp 1 ...", as timelines of sgsim simulate name them; empty: not known
};

/// The simulated timeline as Chrome trace events (docs/formats/trace.md), with the steps marked; `timeline` must hold the spans of all its ranks.
void write_trace(const Drawing& drawing, const timeline::Timeline& timeline, const std::string& path);

}  // namespace sgsim::replay
