#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::segment {

/// The kernels of a compiled graph by position, as indices of CompiledGraph::kernels in launch order.
struct KernelLists {
  std::vector<std::vector<std::uint32_t>> forward, recompute, backward;  // one entry a position
  std::vector<std::uint32_t> position;                                   // of each kernel
};

/// A kernel that covers operators of two layers (compiled as one, without a boundary between them) belongs to the later
/// one, in both passes: a residual sum fused with the next norm is part of the next layer, and the norm's backward
/// with its parameter gradients stays where the norm is.
/// `recomputed`: of each node, whether it is a forward operator run again (recompute/recompute.h).
[[nodiscard]] KernelLists list_kernels(const compile::CompiledGraph& compiled, const Cut& cut, const std::vector<bool>& recomputed);

}  // namespace sgsim::lower::segment
