#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/placement.h"
#include "sim/lower/shard/rules.h"

namespace sgsim::lower::shard {

/// Where every value of a graph lies, and what every operator wants of its operands.
struct Plan {
  Choices choices;
  std::vector<std::uint32_t> first;      // of each node: index of its first result in `placements`
  std::vector<Placement> placements;     // as the operator leaves each result
  std::vector<Transfer> transfers;       // of each node; empty for nodes that are no calls
  std::vector<std::string> kept_whole;   // products that stay whole on every rank, and why

  [[nodiscard]] Placement of(graph::ValueRef v) const {
    return choices.weights.parameter(v) ? choices.weights.placement(v) : placements[first[v.node.value] + v.output];
  }
};

/// Walks the graph in order and lets each operator's rule place its results. A column-parallel product whose divided
/// result meets an operator that needs it whole is kept whole, and the walk starts again. Throws InputError for an
/// operator that cannot work on what reaches it whatever is kept whole.
[[nodiscard]] Plan propagate(const graph::OperatorGraph& graph, const Mesh& mesh);

}  // namespace sgsim::lower::shard
