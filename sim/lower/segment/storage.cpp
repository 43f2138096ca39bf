#include "sim/lower/segment/storage.h"

#include <optional>

#include "sim/graph/operators.h"

namespace sgsim::lower::segment {

using graph::Node;
using graph::NodeKind;
using graph::ValueRef;

Storage::Storage(const graph::OperatorGraph& graph) {
  base_.reserve(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::optional<ValueRef> base;
    if (node.kind == NodeKind::call && graph::is_view(node.target)) {
      graph::for_each_input(node, [&](ValueRef v) {
        if (!base) base = owner(v);
      });
    }
    base_.push_back(base.value_or(ValueRef{NodeId{i}, 0}));
  }
}

ValueRef Storage::owner(ValueRef v) const {
  const ValueRef base = base_[v.node.value];
  return base.node == v.node ? v : base;
}

std::vector<bool> depends_on_parameters(const graph::OperatorGraph& graph) {
  std::vector<bool> depends(graph.nodes.size(), false);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool any = node.kind == NodeKind::parameter;
    graph::for_each_input(node, [&](ValueRef v) { any = any || depends[v.node.value]; });
    depends[i] = any;
  }
  return depends;
}

}  // namespace sgsim::lower::segment
