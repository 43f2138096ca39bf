#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::compile {

/// Why an operator cannot stand in a static graph.
enum class BreakReason : std::uint8_t {
  data_dependent_shape,  // nonzero, masked_select, unique: the result's size is known on the device only
  host_read,             // .item(), _local_scalar_dense, equal: the host waits for a value
  device_transfer,       // a copy between host and device that the host waits for
  host_collective,       // a collective or barrier that the host waits for
};

struct GraphBreak {
  NodeId node;
  BreakReason reason = BreakReason::host_read;
  std::string text;  // "nonzero_1 (aten.nonzero.default) in model.layers.0.mlp: result size depends on data"
  bool operator==(const GraphBreak&) const = default;
};

/// A stretch of nodes that torch.compile captures as one graph (a forward and a backward graph where both exist), in node
/// order; the operators at which it ends run eagerly between the pieces.
struct Piece {
  std::vector<NodeId> nodes;
};

struct BrokenGraph {
  std::vector<GraphBreak> breaks;
  std::vector<Piece> pieces;               // without the breaking operators; empty stretches are left out
  std::vector<std::uint32_t> piece_of;     // by node: its piece; a breaking operator belongs to the piece before it
};

[[nodiscard]] std::string_view to_text(BreakReason reason);
/// What makes this one operator uncapturable; nothing for all others.
[[nodiscard]] std::optional<BreakReason> break_reason(const graph::OperatorGraph& graph, const graph::Node& node);
/// Finds the breaks and cuts the graph there. The pieces of the backward pass mirror those of the forward pass: a backward
/// node belongs to the piece of the forward node with its autograd sequence number, so that each piece is one forward
/// and one backward launch in CUDA-graph mode.
[[nodiscard]] BrokenGraph find_breaks(const graph::OperatorGraph& graph);

}  // namespace sgsim::compile
