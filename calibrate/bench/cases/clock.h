#pragma once

#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/runner.h"

namespace sgsim::calibrate {

/// The probe with its overhead, from probes of one and of two lengths on an idle GPU at a steady clock.
[[nodiscard]] ClockProbe calibrate_probe(Context& context, ActivitySource& activities);

/// The SM clock under steady loads. Label "load": matmul, memory, or training_mix, the kernels of a transformer layer's
/// forward and backward pass (hidden 4096, 32 heads of 128 on 8 key-value heads, feed-forward 14,336, 8,192 tokens) in their
/// order. Samples are the seconds of a cycle over the second half of some seconds.
[[nodiscard]] Task prepare_clock(Context& context, PlanWorkshop& workshop, ActivitySource& activities, const ClockProbe& probe, const Key& key);

}  // namespace sgsim::calibrate
