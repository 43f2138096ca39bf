#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sgsim::import::cuda_graph_dot {

enum class NodeKind : std::uint8_t { kernel, copy, set, host, child_graph, conditional, passive };

/// What the label of a node says.
struct NodeLabel {
  NodeKind kind = NodeKind::kernel;
  std::string word;             // "KERNEL", "EVENT_RECORD"
  std::string name;             // kernel: its function; copies: "DtoH"
  std::uint32_t blocks = 0;     // grid
  double bytes = 0.0;           // copies and sets
  std::string child;            // child graph: "graph_2" where the label names it
};

/// Nothing when the label names no kind of node.
[[nodiscard]] std::optional<NodeLabel> read_label(std::string_view label);

}  // namespace sgsim::import::cuda_graph_dot
