#pragma once

#include "sim/replay/replay.h"
#include "sim/replay/rescale.h"

namespace sgsim::replay {

/// Programs of a run whose files say how long things take, or how much is transferred, and what waits for what, but not when anything began (workloads made for simulators:
/// Chakra of ASTRA-sim, SimAI): a stream runs its operations in the order of the file, each communicator has a stream of its own, and stated dependencies hold,
/// through operators and calls of the host too. A communication lasts as long as the file says (least over the imported members), else as `machine`'s network takes for it; ranks are
/// its GPUs in order. `machine`: none, or large enough for the run (ranks_of). `said`: dp and tp of communicators whose size is not in the file; 0: not known. Ranks
/// without a file are counted in a communicator's size and taken to come no later than those that have one. Fills all but `end` of the result.
/// Throws InputError where a communication has no duration and there is no machine, its group's size is not known, or its ranks contradict each other; where nothing has a
/// duration; where dependencies go in a circle, within a rank or over several.
[[nodiscard]] Built build_untimed(const trace::ImportedRun& run, const trace::Matching& matching, const Machine* machine, const Sizes& said);

/// Ranks of the run as far as its files, and `said`, tell: imported ones, members and sizes of communicators.
[[nodiscard]] int ranks_of(const trace::ImportedRun& run, const Sizes& said);

/// Of `ranks` ranks those that have no file, where the files have numbers: they are taken to do what those of the files do, so that nobody waits for them.
[[nodiscard]] std::vector<std::uint32_t> not_in_files(const trace::ImportedRun& run, int ranks);

}  // namespace sgsim::replay
