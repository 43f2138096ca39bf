#include "sim/compile/passes.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using graph::DType;
using graph::TensorType;
using graph::ValueRef;

namespace {

/// y = x w^T, loss = sum(y); dw = g^T x.
HandGraph linear() {
  HandGraph g;
  const ValueRef w = g.parameter("w", {8, 4});
  const ValueRef x = g.input("x", {2, 4});
  const ValueRef y = g.call("aten.mm.default", {{x}, {g.call("aten.t.default", {{w}})}});
  const ValueRef loss = g.call("aten.sum.default", {{y}});
  g.graph.outputs = {loss};
  const ValueRef one = g.backward_of(loss);
  const ValueRef dy = g.call("aten.expand.default", {{one}, HandGraph::list({2, 8})});
  const ValueRef dw = g.call("aten.mm.default", {{g.call("aten.t.default", {{dy}})}, {x}});
  g.graph.gradients[w.node] = dw;
  return g;
}

/// The one problem that a graph has must say all of this.
void require_problem(const graph::OperatorGraph& graph, const std::vector<std::string>& words) {
  const auto problems = compile::verify(graph);
  REQUIRE_FALSE(problems.empty());
  for (const std::string& word : words) CHECK_THAT(problems[0], Catch::Contains(word));
}

}  // namespace

TEST_CASE("a sound graph has no problems") {
  CHECK(compile::verify(linear().graph).empty());
}

TEST_CASE("a result of another shape than its operands give is found") {
  HandGraph g = linear();
  g.graph.nodes[3].outputs[0].shape = {2, 9};
  require_problem(g.graph, {"mm.default_3", "float32[2, 9]", "float32[2, 8]"});
}

TEST_CASE("a result of another type than its operands give is found") {
  HandGraph g = linear();
  g.graph.nodes[3].outputs[0].dtype = DType::bfloat16;
  require_problem(g.graph, {"mm.default_3", "bfloat16[2, 8]", "float32[2, 8]"});
}

TEST_CASE("a reference to a later node is found") {
  HandGraph g = linear();
  std::get<ValueRef>(g.graph.nodes[2].args[0].value).node.value = 4;
  require_problem(g.graph, {"stands after it"});
}

TEST_CASE("a reference to no node, and to no output, is found") {
  HandGraph g = linear();
  std::get<ValueRef>(g.graph.nodes[2].args[0].value).node.value = 99;
  require_problem(g.graph, {"dangling"});
  HandGraph h = linear();
  std::get<ValueRef>(h.graph.nodes[2].args[0].value).output = 3;
  require_problem(h.graph, {"reads output 3"});
}

TEST_CASE("names are unique") {
  HandGraph g = linear();
  g.graph.nodes[2].name = "w";
  require_problem(g.graph, {"w: the name stands for two nodes"});
}

TEST_CASE("a parameter without a gradient is frozen; a forward graph has none") {
  HandGraph g = linear();
  g.parameter("frozen", {3});
  CHECK(compile::verify(g.graph).empty());
  g.graph.gradients.clear();
  CHECK(compile::verify(g.graph).empty());
}

TEST_CASE("a gradient has its parameter's shape and type") {
  HandGraph g = linear();
  const ValueRef y{NodeId{3}, 0};
  g.graph.gradients.begin()->second = y;  // [2, 8] for a parameter [8, 4]
  require_problem(g.graph, {"gradient of w", "float32[2, 8]", "float32[8, 4]"});
  HandGraph h = linear();
  h.graph.nodes[0].outputs[0].dtype = DType::bfloat16;
  const auto problems = compile::verify(h.graph);
  CHECK(std::any_of(problems.begin(), problems.end(), [](const std::string& p) { return p.find("gradient of w: type float32") != std::string::npos; }));
}
