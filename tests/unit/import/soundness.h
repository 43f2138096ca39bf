#pragma once

#include <string>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/graph/node_work.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::import::test {

/// What is wrong with a graph, one line each: order, results that differ from what their operands give, gradients.
inline std::vector<std::string> flaws_of(const graph::OperatorGraph& graph, bool strides) {
  std::vector<std::string> flaws;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    graph::for_each_input(node, [&](graph::ValueRef ref) {
      if (ref.node.value >= i || ref.output >= graph.node(ref.node).outputs.size()) flaws.push_back(node.name + " reads ahead");
    });
    if (node.kind == graph::NodeKind::parameter && !graph.gradients.contains(NodeId{i})) flaws.push_back(node.name + " has no gradient");
    if (node.kind != graph::NodeKind::call) continue;
    if (graph::classify(node.target) == graph::OperatorClass::unknown) flaws.push_back(node.target + " is unknown");
    auto expected = graph::infer(graph, node);
    if (!expected || expected->size() != node.outputs.size()) {
      flaws.push_back(node.name + " cannot be inferred");
      continue;
    }
    for (std::size_t k = 0; k < expected->size(); ++k) {
      graph::TensorType actual = node.outputs[k];
      if (!strides) (*expected)[k].stride = actual.stride = {};
      if ((*expected)[k] != actual) flaws.push_back(node.name + ": " + to_text(actual) + ", not " + to_text((*expected)[k]));
    }
  }
  for (const auto& [parameter, gradient] : graph.gradients) {
    if (graph.type(gradient).shape != graph.node(parameter).outputs[0].shape) flaws.push_back("gradient of " + graph.node(parameter).name);
  }
  return flaws;
}

inline double matmul_flops(const graph::OperatorGraph& graph) {
  double flops = 0.0;
  for (const auto& product : graph::matmuls_of(graph)) flops += graph::flops_of(product.work).value();
  return flops;
}

}  // namespace sgsim::import::test
