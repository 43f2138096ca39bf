#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/graph/operators.h"

namespace sgsim::compile {

/// What an operator is, looked up once a target.
struct OperatorInfo {
  std::string_view name;  // "mm" of "aten.mm.default"
  graph::OperatorClass operator_class = graph::OperatorClass::unknown;
  bool view = false, in_place = false, side_effect = false, external = false;
};

/// The operators of a graph's nodes; valid while the graph is. Sources have no name and class unknown.
class OperatorTable {
 public:
  explicit OperatorTable(const graph::OperatorGraph& graph);
  OperatorTable(const OperatorTable&) = delete;
  OperatorTable& operator=(const OperatorTable&) = delete;

  [[nodiscard]] const OperatorInfo& of(std::uint32_t node) const { return *by_node_[node]; }
  [[nodiscard]] const OperatorInfo& of(NodeId node) const { return *by_node_[node.value]; }

 private:
  std::unordered_map<std::string_view, OperatorInfo> by_target_;
  OperatorInfo source_;
  std::vector<const OperatorInfo*> by_node_;
};

}  // namespace sgsim::compile
