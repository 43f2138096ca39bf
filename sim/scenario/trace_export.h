#pragma once

#include <cstdint>
#include <string>

#include "sim/scenario/simulate.h"

namespace sgsim::scenario {

/// Most slices that a trace may have before it must be asked for by rank: Perfetto in a browser holds about 2 GB.
inline constexpr std::uint64_t kMostTraceSlices = 5'000'000;

/// What a trace will hold, before it is written.
struct TraceSize {
  std::uint32_t ranks = 0;
  std::uint64_t slices = 0;
};
[[nodiscard]] TraceSize trace_size(const Simulation& simulation);

/// Writes the recorded spans as a Perfetto timeline (docs/formats/trace.md): a process a simulated rank, named with the real
/// ranks it stands for; a thread a stream; a slice a task with its kernels inside; arrows from sends to receives; a
/// counter of memory by kind. Throws EnvironmentError when the file cannot be written, and
/// InputError when the trace would have more than kMostTraceSlices slices.
TraceSize write_trace(const std::string& path, const Scenario& scenario, const Run& run);

}  // namespace sgsim::scenario
