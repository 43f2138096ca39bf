#pragma once

#include "sim/replay/scaling.h"

namespace sgsim::replay {

/// The wanted job out of the passes of captured stages, in 1F1B order with sends and receives between stages. A wanted stage takes the program of the captured
/// stage in its place (first, inside, last); of a pass in the middle of a step the one of median time stands for all, the first forward and
/// last backward pass for themselves. With another number of stages, what belongs to layers goes by the layers a stage has (all stages the
/// same number); what stands before the first and after the last layer stays with the first and last stage. Layers are told by labels, else by the
/// time that first and last stages take beyond one inside. Throws InputError where neither is there.
[[nodiscard]] Rescaled build_pipeline(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies, const Rescale& request);

}  // namespace sgsim::replay
