#pragma once

#include <vector>

#include "sim/cost/power.h"
#include "sim/lower/program/launches.h"

namespace sgsim::lower {

/// What a micro-batch's share of the optimizer adds to the load: little power for its time.
struct OptimizerLoad {
  graph::MemoryBound work;
  Seconds time;
};

/// Stretches the kernels of `segments` by the clock at which one micro-batch (all positions of the model's order, both passes)
/// draws the GPU's limit (sim/cost/power.h). A host that cannot keep the GPU busy lowers its mean power. What transfers draw while they
/// run beside the kernels is left out: they are not priced yet.
void apply_power_limit(std::vector<SegmentLaunches>& segments, const SegmentedModel& model, const cost::PowerModel& power, const OptimizerLoad& optimizer = {});

}  // namespace sgsim::lower
