#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/operator_table.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// Dense numbers for the values of a graph, and the storage each value lives in.
class ValueTable {
 public:
  /// `aliases`, by node: calls besides views whose result is their first operand's memory; may be empty.
  ValueTable(const graph::OperatorGraph& graph, const OperatorTable& operators, const std::vector<char>& aliases = {});

  [[nodiscard]] std::size_t size() const { return refs_.size(); }
  [[nodiscard]] std::uint32_t index(graph::ValueRef v) const { return first_[v.node.value] + v.output; }
  [[nodiscard]] graph::ValueRef ref(std::uint32_t index) const { return refs_[index]; }
  /// The value whose memory this one shows: itself, or what a view looks at (t, view, detach, wait_tensor, getitem of split).
  [[nodiscard]] graph::ValueRef storage(graph::ValueRef v) const { return refs_[storage_[index(v)]]; }

 private:
  std::vector<std::uint32_t> first_;    // by node
  std::vector<graph::ValueRef> refs_;   // by value number
  std::vector<std::uint32_t> storage_;  // by value number
};

/// Bytes of memory that reading a value touches: dimensions of stride 0 (expand) count once.
[[nodiscard]] Bytes touched_bytes(const graph::TensorType& type);

/// The first tensor operand of a node; an invalid reference where it has none.
[[nodiscard]] graph::ValueRef first_input(const graph::Node& node);

/// True for a call that only looks at its first operand's memory.
[[nodiscard]] bool is_view_node(const graph::Node& node);

}  // namespace sgsim::compile
