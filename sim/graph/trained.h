#pragma once

#include "sim/graph/graph.h"

namespace sgsim::graph {

/// Whether a parameter is trained: it has a gradient, or the graph has none at all (a forward graph). Others are frozen.
[[nodiscard]] inline bool is_trained(const OperatorGraph& graph, NodeId parameter) {
  return graph.gradients.empty() || graph.gradients.contains(parameter);
}

}  // namespace sgsim::graph
