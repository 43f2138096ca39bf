#pragma once

#include <string_view>

#include "sim/compile/kernel.h"
#include "sim/graph/graph.h"

namespace sgsim::lower::segment {

/// Two neighbours of scale, mask and softmax over attention scores, forward or backward, by their operators.
[[nodiscard]] bool is_softmax_chain(std::string_view producer, std::string_view consumer);

/// The scores that a kernel of such a chain makes: [..., queries, keys].
[[nodiscard]] const graph::TensorType& scores_of(const graph::OperatorGraph& graph, const compile::Kernel& kernel);

/// Whether Megatron-LM's fused kernel takes scores of this shape and type (NVIDIA/Megatron-LM megatron/model/fused_softmax.py,
/// is_kernel_available): 16-bit types, 16 < keys <= 4,096 (2,048 in 2021), queries and batch x heads multiples of 4.
[[nodiscard]] bool has_fused_softmax(const graph::TensorType& scores);

/// Gives the joined kernels the bytes of Megatron-LM's (megatron/fused_kernels/scaled_upper_triang_masked_softmax.h): under a
/// causal mask the forward kernel reads the lower triangle and writes all, the backward kernel reads two lower triangles and
/// writes all; under another mask everything is read. Rows stay in registers, as a norm's do, so that they take its curve.
/// What no fused kernel takes runs as forward_torch_softmax: in float32, with a cast before and after, each operator apart.
void price_softmax(compile::CompiledGraph& compiled);

}  // namespace sgsim::lower::segment
