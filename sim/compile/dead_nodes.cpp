#include <utility>
#include <vector>

#include "sim/compile/operator_effects.h"
#include "sim/compile/pipeline.h"

namespace sgsim::compile {

namespace {

void renumber(graph::Argument& argument, const std::vector<std::uint32_t>& new_id) {
  if (auto* ref = std::get_if<graph::ValueRef>(&argument.value)) ref->node.value = new_id[ref->node.value];
  if (auto* list = std::get_if<graph::ArgumentList>(&argument.value)) {
    for (graph::Argument& item : *list) renumber(item, new_id);
  }
}

}  // namespace

graph::OperatorGraph remove_dead_nodes(graph::OperatorGraph graph) {
  std::vector<char> live(graph.nodes.size(), 0);
  for (const auto& v : graph.outputs) live[v.node.value] = 1;
  for (const auto& [parameter, gradient] : graph.gradients) live[gradient.node.value] = 1;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[i];
    if (node.kind != graph::NodeKind::call || has_side_effect(node.target)) live[i] = 1;
    if (live[i]) graph::for_each_input(node, [&](graph::ValueRef v) { live[v.node.value] = 1; });
  }
  std::vector<std::uint32_t> new_id(graph.nodes.size(), NodeId{}.value);
  std::vector<graph::Node> kept;
  kept.reserve(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    new_id[i] = static_cast<std::uint32_t>(kept.size());
    graph::Node node = std::move(graph.nodes[i]);
    for (graph::Argument& argument : node.args) renumber(argument, new_id);
    for (auto& [key, argument] : node.kwargs) renumber(argument, new_id);
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  for (auto& v : graph.outputs) v.node.value = new_id[v.node.value];
  std::map<NodeId, graph::ValueRef> gradients;
  for (const auto& [parameter, gradient] : graph.gradients)
    gradients[NodeId{new_id[parameter.value]}] = {NodeId{new_id[gradient.node.value]}, gradient.output};
  graph.gradients = std::move(gradients);
  return graph;
}

}  // namespace sgsim::compile
