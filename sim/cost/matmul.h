#pragma once

#include "sim/core/diagnostics.h"
#include "sim/cost/estimate.h"
#include "sim/cost/profile.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

/// The analytic bound of a matrix product, alone on the device:
///   arithmetic: least over the model's tiles of  W * 2 tm tn (k + k_overhead) * SMs / (efficiency * peak),  where the
///     output takes t = batch ceil(m/tm) ceil(n/tn) tiles in w = t / SMs waves and W = w + weight * (ceil(w) - w), the
///     weight being wave_weight, or partial_wave_weight when w < 1. Without tiles: 2 batch m n k / peak;
///   memory: each operand and the result once at memory_efficiency of the HBM bandwidth;
///   together (arithmetic^s + memory^s)^(1/s) + fixed, s = sharpness.
/// Layout and alignment do not enter.
[[nodiscard]] Seconds matmul_bound(const Datasheet& gpu, const MatmulModel& model, const graph::Matmul& work);

/// Bound and arithmetic part, to tell what binds.
struct MatmulBound {
  Seconds time, arithmetic, memory;
};
[[nodiscard]] MatmulBound matmul_bound_parts(const Datasheet& gpu, const MatmulModel& model, const graph::Matmul& work);

/// The bound times the measured-over-bound ratio, interpolated in log m, n, k between the measured shapes of the same type
/// and layout. float16 and bfloat16 stand in for each other (equal rates on every GPU here), and a layout without a table
/// for the linear layer's times the model's factor. Outside the table the ratio of its edge, counted.
[[nodiscard]] Estimate matmul_time(const Profile& profile, const graph::Matmul& work, Diagnostics& diagnostics);

/// The model of this type, or of the type that stands in for it. Throws InputError when the profile has none.
[[nodiscard]] const MatmulModel& matmul_model(const Profile& profile, graph::DType dtype);

}  // namespace sgsim::cost
