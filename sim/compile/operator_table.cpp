#include "sim/compile/operator_table.h"

#include "sim/compile/external.h"
#include "sim/compile/operator_effects.h"

namespace sgsim::compile {

OperatorTable::OperatorTable(const graph::OperatorGraph& graph) {
  by_node_.reserve(graph.nodes.size());
  for (const graph::Node& node : graph.nodes) {
    if (node.kind != graph::NodeKind::call) {
      by_node_.push_back(&source_);
      continue;
    }
    const auto [found, added] = by_target_.try_emplace(node.target);
    if (added) {
      OperatorInfo& info = found->second;
      info.name = base_name(node.target);
      info.operator_class = graph::classify(node.target);
      info.view = info.operator_class == graph::OperatorClass::view;
      info.in_place = is_in_place(node.target);
      info.side_effect = has_side_effect(node.target);
      info.external = is_external(node);
    }
    by_node_.push_back(&found->second);
  }
}

}  // namespace sgsim::compile
