#pragma once

#include <string>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// Kernels that PyTorch's eager CUDA back end launches for one operator that no library serves, each with the bytes it
/// moves (each distinct operand read once, at its own type; one read more where the kernel makes two passes). Empty for
/// views and for allocations. Counts and passes are those of PyTorch 2.11's profiles (docs/compile.md, Eager kernels).
[[nodiscard]] std::vector<graph::MemoryBound> eager_kernels(const graph::OperatorGraph& graph, const graph::Node& node);

/// One kernel (or more) an operator, in the graph's order.
[[nodiscard]] std::vector<Kernel> compile_eager(const graph::OperatorGraph& graph, Diagnostics& diagnostics);

}  // namespace sgsim::compile
