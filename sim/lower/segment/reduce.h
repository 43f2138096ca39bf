#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segment/equal_layers.h"

namespace sgsim::lower::segment {

/// A model with its repeated layers left out: a complete graph with few layers, and which of them stands for each layer
/// of the whole model.
struct Reduced {
  graph::OperatorGraph graph;
  std::vector<std::uint32_t> stands_for;  // of each position of the whole model: its position in the reduced graph
  std::vector<std::uint32_t> times;       // of each position of the reduced graph: positions of the whole model
};

/// Drops the layers that `kept` leaves out and joins what remains: a kept layer reads what its first original read from
/// the layers before it, and what its last original read from those after it.
[[nodiscard]] Reduced reduce(const graph::OperatorGraph& graph, const Cut& cut, const Layers& layers,
                             const std::vector<Kept>& kept, bool with_neighbours);

}  // namespace sgsim::lower::segment
