#pragma once

#include "sim/core/diagnostics.h"
#include "sim/cost/estimate.h"
#include "sim/cost/profile.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

/// Rows of queries (backward: of keys) that one thread block owns in the flash kernels that the profiles were measured with.
inline constexpr double kAttentionRows = 128.0;

/// The analytic bound of fused attention, alone on the device:
///   spread: flops_of(work) * (1 + rows / kv_len when causal: half of each diagonal block is masked out) over
///     efficiency * peak;
///   longest block: 2 products (backward 5) of rows x kv_len x head_dim over critical_efficiency * one SM's peak;
///   memory: bytes_of(work) over the HBM bandwidth;
///   max(spread + longest block, memory) + fixed, and backward its helper kernels: the row sums of gradient times output
///   (4 bytes a query element), the float32 query gradient brought to 16 bits (6 bytes), and with grouped heads the sum of
///   key and value gradients over a group, at attention.helper_memory_efficiency of the HBM bandwidth.
/// A model with waves counts thread blocks instead: each of the batch * heads * ceil(q_len / rows) takes
///   start + b * s,  s = kv_len in blocks of 128 keys (backward: 64, halves counted), b = the products (2, backward 5) of 128 x
///   128 x head_dim at efficiency of one SM's rate, times ragged when 128 does not divide kv_len.
///   Without a causal mask, w = blocks / SMs waves cost w + wave_weight * (ceil(w) - w). With one, blocks differ in length: the sum of all
///   over the SMs, plus tail times the longest; at least the longest. Memory, fixed and helpers as above.
[[nodiscard]] Seconds attention_bound(const Profile& profile, const AttentionModel& model, const graph::Attention& work);

/// The bound times the measured ratio, interpolated in log (heads per group, batch * heads, length) between the measured
/// shapes of the same pass, mask and head size; where no table has them, the model alone.
[[nodiscard]] Estimate attention_time(const Profile& profile, const graph::Attention& work, Diagnostics& diagnostics);

}  // namespace sgsim::cost
