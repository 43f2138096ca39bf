#include "sim/compile/passes.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using graph::DType;
using graph::Node;
using graph::OperatorGraph;
using graph::ValueRef;

namespace {

std::vector<const Node*> find(const OperatorGraph& graph, std::string_view target) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes) {
    if (node.target == target) found.push_back(&node);
  }
  return found;
}

/// y = relu(x w^T) v^T with float32 parameters; loss = sum(y^2); gradients by hand.
HandGraph two_layers() {
  HandGraph g;
  const ValueRef w = g.parameter("w", {8, 4}), v = g.parameter("v", {2, 8});
  const ValueRef x = g.input("x", {16, 4});
  const ValueRef h = g.call("aten.mm.default", {{x}, {g.call("aten.t.default", {{w}})}}, {.seq_nr = 1});
  const ValueRef r = g.call("aten.relu.default", {{h}}, {.seq_nr = 2});
  const ValueRef y = g.call("aten.mm.default", {{r}, {g.call("aten.t.default", {{v}})}}, {.seq_nr = 3});
  const ValueRef loss = g.call("aten.sum.default", {{g.call("aten.pow.Tensor_Scalar", {{y}, {std::int64_t{2}}}, {.seq_nr = 4})}}, {.seq_nr = 5});
  g.graph.outputs = {loss};
  const ValueRef one = g.backward_of(loss);
  const ValueRef gy = g.call("aten.mul.Tensor", {{y}, {g.call("aten.expand.default", {{one}, HandGraph::list({16, 2})})}}, {.seq_nr = 4});
  const ValueRef gv = g.call("aten.mm.default", {{g.call("aten.t.default", {{gy}})}, {r}}, {.seq_nr = 3});
  const ValueRef gr = g.call("aten.mm.default", {{gy}, {v}}, {.seq_nr = 3});
  const ValueRef gh = g.call("aten.threshold_backward.default", {{gr}, {r}, {std::int64_t{0}}}, {.seq_nr = 2});
  const ValueRef gw = g.call("aten.mm.default", {{g.call("aten.t.default", {{gh}})}, {x}}, {.seq_nr = 1});
  g.graph.gradients = {{w.node, gw}, {v.node, gv}};
  return g;
}

}  // namespace

TEST_CASE("autocast runs matrix products in the lower type and powers and sums in float32") {
  const OperatorGraph cast = compile::autocast(two_layers().graph, DType::bfloat16);
  REQUIRE(compile::verify(cast).empty());
  for (const Node* mm : find(cast, "aten.mm.default")) {
    CHECK(mm->outputs[0].dtype == DType::bfloat16);
    graph::for_each_input(*mm, [&](ValueRef v) { CHECK(cast.type(v).dtype == DType::bfloat16); });
  }
  CHECK(find(cast, "aten.pow.Tensor_Scalar").at(0)->outputs[0].dtype == DType::float32);
  CHECK(find(cast, "aten.relu.default").at(0)->outputs[0].dtype == DType::bfloat16);  // follows its operand
}

TEST_CASE("gradients arrive in their parameters' type and shape") {
  const OperatorGraph cast = compile::autocast(two_layers().graph, DType::bfloat16);
  REQUIRE(cast.gradients.size() == 2);
  for (const auto& [parameter, gradient] : cast.gradients) {
    CHECK(cast.type(gradient).dtype == DType::float32);
    CHECK(cast.type(gradient).shape == cast.node(parameter).outputs[0].shape);
  }
}

// The forward pass casts w, x, v (r is in the lower type already) and y for pow: each parameter once, though the backward
// pass reads v again.
TEST_CASE("a parameter is cast once") {
  const OperatorGraph cast = compile::autocast(two_layers().graph, DType::bfloat16);
  std::map<std::string, int> casts;
  for (const Node* node : find(cast, "aten._to_copy.default")) {
    const ValueRef from = std::get<ValueRef>(node->args[0].value);
    if (node->outputs[0].dtype == DType::bfloat16) ++casts[cast.node(from.node).name];
  }
  CHECK(casts["w"] == 1);
  CHECK(casts["v"] == 1);
}

// Autocast keeps no cache for activations: three products of one float32 value cast it three times.
TEST_CASE("an activation is cast for each use") {
  HandGraph g;
  const ValueRef x = g.input("x", {4, 4});
  const ValueRef n = g.call("aten.exp.default", {{x}});
  std::vector<ValueRef> outputs;
  for (int i = 0; i < 3; ++i) {
    const ValueRef w = g.parameter("w" + std::to_string(i), {4, 4});
    outputs.push_back(g.call("aten.mm.default", {{n}, {w}}));
  }
  g.graph.outputs = outputs;
  const OperatorGraph cast = compile::autocast(g.graph, DType::bfloat16);
  CHECK(find(cast, "aten._to_copy.default").size() == 6);  // three of n, one of each parameter
}

TEST_CASE("a graph that was captured under autocast stays as it is") {
  HandGraph g;
  const ValueRef w = g.parameter("w", {4, 4});
  const ValueRef x = g.input("x", {2, 4});
  const ValueRef y = g.call("aten.mm.default", {{g.cast(x, DType::bfloat16)}, {g.cast(w, DType::bfloat16)}});
  g.graph.outputs = {y};
  CHECK(compile::autocast(g.graph, DType::bfloat16) == g.graph);
}

TEST_CASE("autocasting twice is autocasting once") {
  const OperatorGraph once = compile::autocast(two_layers().graph, DType::bfloat16);
  CHECK(compile::autocast(once, DType::bfloat16) == once);
}
