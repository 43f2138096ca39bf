#include "sim/compile/pipeline.h"

#include "sim/compile/passes.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using graph::OperatorGraph;
using graph::ValueRef;

namespace {

HandGraph with_dead_node() {
  HandGraph g;
  const ValueRef x = g.input("x", {4, 4});
  g.call("aten.exp.default", {{x}});
  const ValueRef y = g.call("aten.relu.default", {{x}});
  g.graph.outputs = {y};
  return g;
}

}  // namespace

TEST_CASE("dead nodes go, what is left is renumbered") {
  const OperatorGraph left = compile::remove_dead_nodes(with_dead_node().graph);
  REQUIRE(left.nodes.size() == 2);
  CHECK(left.nodes[1].target == "aten.relu.default");
  CHECK(left.outputs.at(0).node.value == 1);
  CHECK(compile::verify(left).empty());
}

TEST_CASE("passes run in order, are timed, and can be switched off") {
  const compile::PipelineResult result = compile::run_passes(
      with_dead_node().graph, {{.name = "nothing", .run = [](OperatorGraph g) { return g; }},
                               {.name = "dead", .run = [](OperatorGraph g) { return compile::remove_dead_nodes(std::move(g)); }},
                               {.name = "breaker", .run = [](OperatorGraph g) { g.nodes.clear(); return g; }, .enabled = false}});
  CHECK(result.graph.nodes.size() == 2);
  REQUIRE(result.reports.size() == 3);
  CHECK(result.reports[1].before == 3);
  CHECK(result.reports[1].after == 2);
  CHECK_FALSE(result.reports[2].ran);
  const std::string text = compile::to_text(result.reports);
  CHECK_THAT(text, Catch::Contains("dead"));
  CHECK_THAT(text, Catch::Contains("off"));
}

TEST_CASE("a pass that breaks the graph is our bug and is named") {
  const compile::Pass breaker{.name = "breaker", .run = [](OperatorGraph g) {
                                g.nodes[2].outputs[0].shape = {1};
                                return g;
                              }};
  CHECK_THROWS_WITH(compile::run_passes(with_dead_node().graph, {breaker}), Catch::Contains("pass breaker broke the graph"));
}

TEST_CASE("an unsound graph is bad input") {
  HandGraph g = with_dead_node();
  g.graph.nodes[2].outputs[0].shape = {1};
  CHECK_THROWS_AS(compile::run_passes(g.graph, {}), InputError);
}
