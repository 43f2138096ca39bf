#pragma once

#include "sim/core/diagnostics.h"
#include "sim/cost/estimate.h"
#include "sim/cost/profile.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

/// The matrix product inside a convolution (im2col): forward m = batch * out_h * out_w, n = out_channels,
/// k = in_channels / groups * kernel area; the input gradient swaps n with k's channels, the weight gradient sums over m.
/// One product a group, as a batch.
[[nodiscard]] graph::Matmul implicit_product(const graph::Convolution& work);

/// Bound of the implicit product (matmul.h; bytes: the convolution's own, each tensor once) times the measured ratio of the
/// nearest measured convolution of the same pass (log distance of m, n, k and kernel area).
[[nodiscard]] Estimate convolution_time(const Profile& profile, const graph::Convolution& work, Diagnostics& diagnostics);

}  // namespace sgsim::cost
