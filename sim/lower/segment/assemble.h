#pragma once

#include <vector>

#include "sim/compile/kernel.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segments.h"

namespace sgsim::lower::segment {

/// What assembling needs to know about the operators and parameters of a compiled graph, by node.
struct Marks {
  std::vector<bool> recomputed;      // forward operator run again before the backward pass
  std::vector<bool> tensor_sharded;  // parameter divided over tp
  std::vector<bool> expert;          // parameter divided over ep
};

/// One segment a position: kernels in launch order, parameters, memory. NodeIds in the kernels are cleared (the graph
/// they index is not kept); `inputs` index the kernel list that the kernel stands in, inputs from elsewhere left out.
[[nodiscard]] std::vector<ModelSegment> assemble(const compile::CompiledGraph& compiled, const Cut& cut, const Marks& marks);

/// Equal in all that scheduling, cost and memory depend on; names and modules aside.
[[nodiscard]] bool same_segment(const ModelSegment& a, const ModelSegment& b);

}  // namespace sgsim::lower::segment
