#include "sim/compile/value_table.h"

#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile {

using graph::NodeKind;
using graph::ValueRef;

ValueTable::ValueTable(const graph::OperatorGraph& graph, const OperatorTable& operators, const std::vector<char>& aliases) {
  first_.reserve(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    first_.push_back(static_cast<std::uint32_t>(refs_.size()));
    const ValueRef source = operators.of(i).view || (!aliases.empty() && aliases[i]) ? first_input(node) : ValueRef{};
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const auto self = static_cast<std::uint32_t>(refs_.size());
      refs_.push_back({NodeId{i}, output});
      storage_.push_back(source.node.valid() ? storage_[index(source)] : self);
    }
  }
}

Bytes touched_bytes(const graph::TensorType& type) {
  if (graph::is_absent(type)) return Bytes(0.0);
  double elements = 1.0;
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    if (type.stride.empty() || type.stride[d] != 0) elements *= static_cast<double>(type.shape[d]);
  }
  return Bytes(elements * graph::size_of(type.dtype));
}

ValueRef first_input(const graph::Node& node) {
  ValueRef found;
  graph::for_each_input(node, [&](ValueRef v) {
    if (!found.node.valid()) found = v;
  });
  return found;
}

bool is_view_node(const graph::Node& node) { return node.kind == NodeKind::call && graph::is_view(node.target); }

}  // namespace sgsim::compile
