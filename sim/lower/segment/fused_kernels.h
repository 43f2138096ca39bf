#pragma once

#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::segment {

/// Layers with fused kernels, ends with eager ones (Stack::fused_kernels). The operators that an eager host would dispatch in
/// a layer's pass are shared out over the fused kernels of that pass, so that the host's work is that of eager execution.
[[nodiscard]] compile::CompiledGraph compile_fused_kernels(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<bool>& recomputed,
                                                           Diagnostics& diagnostics);

}  // namespace sgsim::lower::segment
