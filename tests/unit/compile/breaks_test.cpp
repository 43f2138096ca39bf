#include "sim/compile/breaks.h"

#include "sim/compile/compilation.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using compile::BreakReason;
using graph::DType;
using graph::ValueRef;

TEST_CASE("operators that cannot be captured are told from those that can") {
  HandGraph g;
  const ValueRef x = g.input("x", {4}, DType::float32);
  const ValueRef mask = g.input("mask", {4}, DType::bool_);
  const ValueRef places = g.input("places", {2}, DType::int64);
  auto reason = [&](ValueRef v) { return compile::break_reason(g.graph, g.graph.node(v.node)); };
  CHECK(reason(g.raw("aten.nonzero.default", {{mask}}, {graph::contiguous({-1, 1}, DType::int64)})) == BreakReason::data_dependent_shape);
  CHECK(reason(g.raw("aten._local_scalar_dense.default", {{x}}, {graph::contiguous({}, DType::float32)})) == BreakReason::host_read);
  CHECK(reason(g.raw("aten.index.Tensor", {{x}, HandGraph::values({mask})}, {graph::contiguous({3}, DType::float32)})) ==
        BreakReason::data_dependent_shape);
  CHECK(reason(g.raw("aten.index.Tensor", {{x}, HandGraph::values({places})}, {graph::contiguous({2}, DType::float32)})) == std::nullopt);
  const ValueRef moved = g.call("aten._to_copy.default", {{x}}, {.kwargs = {{"device", {std::string("cpu")}}}});
  CHECK(reason(moved) == BreakReason::device_transfer);
  CHECK(reason(g.call("aten._to_copy.default", {{x}}, {.kwargs = {{"device", {std::string("cuda:0")}}}})) == std::nullopt);
  CHECK(reason(g.call("aten.relu.default", {{x}})) == std::nullopt);
}

// x -> relu -> item -> exp -> loss; backward of exp (seq 3), then of relu (seq 1). The break splits forward and backward alike.
TEST_CASE("a break splits the forward pass and mirrors into the backward pass") {
  HandGraph g;
  const ValueRef x = g.input("x", {8});
  const ValueRef a = g.call("aten.relu.default", {{x}}, {.module = "first", .seq_nr = 1});
  g.raw("aten._local_scalar_dense.default", {{a}}, {graph::contiguous({}, DType::float32)});
  const ValueRef b = g.call("aten.exp.default", {{a}}, {.module = "second", .seq_nr = 3});
  const ValueRef loss = g.call("aten.sum.default", {{b}}, {.seq_nr = 4});
  g.graph.outputs = {loss};
  g.backward_of(loss);
  const ValueRef gb = g.call("aten.mul.Tensor", {{b}, {b}}, {.seq_nr = 3});
  const ValueRef ga = g.call("aten.threshold_backward.default", {{gb}, {a}, {std::int64_t{0}}}, {.seq_nr = 1});
  g.graph.outputs.push_back(ga);

  const compile::BrokenGraph broken = compile::find_breaks(g.graph);
  REQUIRE(broken.breaks.size() == 1);
  CHECK_THAT(broken.breaks[0].text, Catch::Contains("aten._local_scalar_dense.default"));
  CHECK_THAT(broken.breaks[0].text, Catch::Contains("the host waits"));
  REQUIRE(broken.pieces.size() == 2);
  CHECK(broken.piece_of[a.node.value] == 0);
  CHECK(broken.piece_of[b.node.value] == 1);
  CHECK(broken.piece_of[gb.node.value] == 1);
  CHECK(broken.piece_of[ga.node.value] == 0);

  // relu and exp would be one kernel; the break keeps them apart, and the backward pieces run in reverse.
  const auto compiled = compile::compile(g.graph, compile::Execution::compiled, compile::CompileOptions{}).compiled;
  std::vector<std::pair<graph::Phase, std::uint32_t>> order;
  for (const auto& kernel : compiled.kernels) {
    if (order.empty() || order.back() != std::pair(kernel.phase, kernel.piece)) order.emplace_back(kernel.phase, kernel.piece);
  }
  using graph::Phase;
  CHECK(order == std::vector<std::pair<Phase, std::uint32_t>>{{Phase::forward, 0}, {Phase::forward, 1}, {Phase::backward, 1}, {Phase::backward, 0}});
}

TEST_CASE("two breaks in a row leave no empty piece") {
  HandGraph g;
  const ValueRef x = g.input("x", {8});
  const ValueRef a = g.call("aten.relu.default", {{x}});
  g.raw("aten._local_scalar_dense.default", {{a}}, {graph::contiguous({}, DType::float32)});
  g.raw("aten._local_scalar_dense.default", {{x}}, {graph::contiguous({}, DType::float32)});
  const ValueRef b = g.call("aten.exp.default", {{a}});
  g.graph.outputs = {b};
  const compile::BrokenGraph broken = compile::find_breaks(g.graph);
  CHECK(broken.breaks.size() == 2);
  REQUIRE(broken.pieces.size() == 2);
  CHECK(broken.piece_of[b.node.value] == 1);
}
