#pragma once

#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"

namespace sgsim::lower::segment {

/// Eager kernels with those merged that training frameworks fuse by hand (Stack::fused_kernels). A kernel joins the one that
/// reads its result when no other kernel of its pass reads it; the result then stays on chip unless another pass needs it.
/// `recomputed`: by node, whether it is a forward operator run again.
[[nodiscard]] compile::CompiledGraph compile_fused_kernels(const graph::OperatorGraph& graph, const std::vector<bool>& recomputed, Diagnostics& diagnostics);

}  // namespace sgsim::lower::segment
