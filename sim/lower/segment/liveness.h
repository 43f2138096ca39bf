#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/quantity.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segment/schedule.h"

namespace sgsim::lower::segment {

/// Activation memory of one position, parameters, gradients of parameters and batch tensors excluded.
struct Footprint {
  Bytes saved;           // kept from the forward to the backward pass for this position
  Bytes forward_peak;    // most that lives above `saved` while its forward kernels run
  Bytes backward_peak;   // most that lives above `saved` while its recomputed and backward kernels run
};

/// By liveness over the kernels, each value counted from the kernel that makes it to the last one that reads it.
/// A value that backward kernels read is kept for the first position, from the front, whose backward kernels read it (so
/// a layer's input is kept by the layer that needs it, wherever it was made); a value that depends on no parameter
/// (rotary tables, masks) by the position that makes it. Copies of parameters in another type, as autocast makes them,
/// are activations: they live from the forward to the backward pass.
[[nodiscard]] std::vector<Footprint> footprints(const compile::CompiledGraph& compiled, const KernelLists& lists);

/// Activation bytes that cross from position p to the later ones: values that carry a gradient, made at p or before and
/// read by forward operators after p.
[[nodiscard]] std::vector<Bytes> boundaries(const graph::OperatorGraph& graph, const Cut& cut);

}  // namespace sgsim::lower::segment
