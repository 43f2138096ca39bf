#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::exporting {

/// One rank as a Chakra execution trace (protobuf, schema 0.0.4), for Chakra's tools and ASTRA-sim: a node for each host
/// operator, runtime call, step and device operation (memsets as computation). Device nodes have communication type, size and group ("pg_name",
/// a whole number above 0, as ASTRA-sim reads it). Durations are whole microseconds, as the schema has it; of host nodes the
/// part that no other node of their thread covers, so that they add up. The exact ones, starts and what else our reader takes
/// are attributes ("duration_ns", "start_ns", "category", ...). Dependencies are the edges of the run; where it
/// has times, also the order on each stream and each launch. What does not fit is counted in `report`.
[[nodiscard]] std::string chakra(const trace::ImportedRun& run, std::size_t rank, Diagnostics& report);

/// ASTRA-sim's file of communicators: {"1": [ranks]}. Empty when the run names none. One whose members are not known is counted.
[[nodiscard]] std::string chakra_groups(const trace::ImportedRun& run, Diagnostics& report);

/// One rank as torch.profiler writes it (Chrome trace events), for HolisticTraceAnalysis, TensorBoard and Perfetto.
/// Throws InputError for a run without times: simulate it first.
[[nodiscard]] std::string kineto(const trace::ImportedRun& run, std::size_t rank, Diagnostics& report);

/// All ranks as a Perfetto trace (protobuf): a process a rank, a track a host thread and a stream, arrows from launches to
/// what they launched. Slices of one track nest; what overlaps goes to a second track beside it, counted in `report`.
/// Throws InputError for a run without times.
[[nodiscard]] std::string perfetto(const trace::ImportedRun& run, Diagnostics& report);

}  // namespace sgsim::exporting
