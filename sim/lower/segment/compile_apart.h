#pragma once

#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::segment {

/// Compiles each position as a graph of its own, so that no kernel covers operators of two positions: what a position reads
/// from others are inputs, what others read of it are results that must be written. `execution` is by position.
/// The kernels come back as one list over `graph`: forward positions upwards, then backward positions downwards.
[[nodiscard]] compile::CompiledGraph compile_apart(const graph::OperatorGraph& graph, const Cut& cut,
                                                   const std::vector<compile::Execution>& execution, Diagnostics& diagnostics);

}  // namespace sgsim::lower::segment
