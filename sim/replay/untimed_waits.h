#pragma once

#include <vector>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Tasks that are one operation of a communicator: (rank, task) of each member.
using OneOperation = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Throws InputError, with a shortest circle and what each operation is, where operations of several ranks wait for each other in a circle: each for the one before it
/// on a stream, by a dependency, or because its members must all have come. `built` has its programs and notes; `rank` of the run is rank of the workload.
void check_waits(const trace::ImportedRun& run, const Built& built, const std::vector<OneOperation>& operations);

}  // namespace sgsim::replay
