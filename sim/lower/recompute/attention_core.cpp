#include "sim/lower/recompute/attention_core.h"

#include "sim/graph/operators.h"
#include "sim/lower/segment/storage.h"
#include "sim/lower/shard/weights.h"

namespace sgsim::lower::recompute {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

std::vector<bool> attention_core(const OperatorGraph& graph, const segment::Cut& cut) {
  const std::size_t count = graph.nodes.size();
  const std::vector<bool> trained = segment::depends_on_parameters(graph);
  const shard::Weights weights(graph);
  std::vector<bool> product(count, false), after(count, false), before(count, false);
  const auto forward = [&](std::size_t i) { return graph.nodes[i].kind == NodeKind::call && graph.nodes[i].phase == Phase::forward; };
  for (std::size_t i = 0; i < count; ++i) {
    if (!forward(i)) continue;
    const Node& node = graph.nodes[i];
    int activations = 0;
    bool follows = false;
    graph::for_each_input(node, [&](ValueRef v) {
      if (trained[v.node.value] && !weights.parameter(v)) ++activations;
      follows = follows || (after[v.node.value] && cut.position[v.node.value] == cut.position[i]);
    });
    product[i] = graph::classify(node.target) == graph::OperatorClass::matmul && activations >= 2;
    // What comes after the second product is no longer core: projections of it start anew.
    const bool second = product[i] && follows;
    after[i] = (product[i] && !second) || (follows && !second && graph::classify(node.target) != graph::OperatorClass::matmul);
    if (second) before[i] = true;
  }
  std::vector<bool> core(count, false);
  for (std::size_t i = count; i-- > 0;) {
    if (!before[i]) continue;
    core[i] = true;
    graph::for_each_input(graph.nodes[i], [&](ValueRef v) {
      const std::size_t source = v.node.value;
      if (after[source] && cut.position[source] == cut.position[i]) before[source] = true;
    });
  }
  return core;
}

}  // namespace sgsim::lower::recompute
