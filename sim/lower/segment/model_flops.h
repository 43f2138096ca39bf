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
/// backward: what its backward kernel computes again is recomputation. Attention that is unfused or reads an explicit mask
/// counts as the full products that its graph holds: the graph does not say what the mask hides.
struct ModelFlops {
  Flops total;
  Flops above_diagonal;  // of `total`: what does not count if those full products are causal attention
};
/// `heads`: of the model's attention, for its unfused products; 0 where it is not known.
[[nodiscard]] ModelFlops model_flops(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<std::uint32_t>& times, std::int64_t heads);

}  // namespace sgsim::lower::segment
