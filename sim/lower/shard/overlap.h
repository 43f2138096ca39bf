#pragma once

#include "sim/graph/graph.h"

namespace sgsim::lower::shard {

/// Orders the backward pass of a divided graph so that communication has something to run beside, as Megatron-LM's
/// asynchronous column-parallel layers do: the sum (or reduce-scatter) of an input gradient starts before the products
/// of the weight gradients that belong to it, and the gather of the layer's input for those weight gradients before the
/// product of the input gradient. Only the order of nodes changes.
[[nodiscard]] graph::OperatorGraph overlap_weight_gradients(const graph::OperatorGraph& graph);

}  // namespace sgsim::lower::shard
