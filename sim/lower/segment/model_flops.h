#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/quantity.h"
#include "sim/graph/graph.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::segment {

/// Floating-point operations of matrix products, fused attention and convolutions, forward and backward, each position
/// counted `times` (PaLM, Chowdhery et al. 2022, appendix B, with two differences: only the lower triangle of causal
/// attention counts, and products of any kind count, not parameters). Fused attention counts 2 products forward and 4
/// backward: what its backward kernel computes again is recomputation. Unfused attention counts as the full products
/// that its graph holds.
[[nodiscard]] Flops model_flops(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<std::uint32_t>& times);

}  // namespace sgsim::lower::segment
