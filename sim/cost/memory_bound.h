#pragma once

#include "sim/core/diagnostics.h"
#include "sim/cost/estimate.h"
#include "sim/cost/profile.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

/// Time of a bandwidth-bound kernel: its kind's measured curve at the bytes it moves (read + written; softmax and
/// cross-entropy, which exponentials bind: the larger of the two), straight in log-log between points.
/// Below the first point: the first point's time (the launch floor). Above the last: the last point's bandwidth (the
/// plateau); both are how such kernels behave, not extrapolations. Never under its flops at the vector peak.
/// A kind without a curve takes the pointwise one, counted.
[[nodiscard]] Estimate memory_bound_time(const Profile& profile, const graph::MemoryBound& work, Diagnostics& diagnostics);

}  // namespace sgsim::cost
