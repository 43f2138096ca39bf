#pragma once

#include <string>

#include "sim/graph/graph.h"
#include "sim/plan/plan.h"

namespace sgsim::scenario {

/// Reads a graph of either kind: captured (AOTAutograd) or a graph file of ours. Throws InputError.
[[nodiscard]] graph::OperatorGraph read_any_graph(const std::string& path);

/// Model facts that a captured graph shows: layers (as lowering cuts it), heads and key/value heads of its fused attention,
/// rows of its largest embedding as vocabulary, hidden width of that embedding, tokens. What it does not show stays
/// zero, and the rules of plan legality about it stay silent; lowering still refuses what does not divide.
[[nodiscard]] plan::ModelShape shape_of(const graph::OperatorGraph& graph);

}  // namespace sgsim::scenario
