#include "sim/compile/eager.h"

#include "sim/compile/passes.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using graph::DType;
using graph::MemoryBound;
using graph::MemoryKind;
using graph::ValueRef;

namespace {

std::vector<compile::Kernel> eager(const graph::OperatorGraph& graph) {
  Diagnostics diagnostics;
  return compile::compile(graph, compile::Execution::eager, diagnostics).kernels;
}

std::vector<MemoryBound> kernels_of(const HandGraph& g, ValueRef v) { return compile::eager_kernels(g.graph, g.graph.node(v.node)); }

}  // namespace

TEST_CASE("a view has no kernel, but the host dispatches it") {
  HandGraph g;
  const ValueRef w = g.parameter("w", {8, 4});
  const ValueRef x = g.input("x", {2, 4});
  g.graph.outputs = {g.call("aten.mm.default", {{x}, {g.call("aten.t.default", {{w}})}})};
  const auto kernels = eager(g.graph);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].host_operators == 2);
  CHECK(kernels[0].reads == std::vector<ValueRef>{x, w});
}

TEST_CASE("each operator moves bytes at its own types; a broadcast operand counts once") {
  HandGraph g;
  const ValueRef x = g.input("x", {128, 64}, DType::bfloat16);
  const ValueRef w = g.parameter("w", {64});
  const ValueRef y = g.call("aten.mul.Tensor", {{x}, {w}});  // promotes to float32
  const auto kernels = kernels_of(g, y);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].read == Bytes(128 * 64 * 2 + 64 * 4));
  CHECK(kernels[0].written == Bytes(128 * 64 * 4));
  const ValueRef e = g.call("aten.expand.default", {{w}, HandGraph::list({128, 64})});
  const ValueRef z = g.call("aten.exp.default", {{e}});
  CHECK(kernels_of(g, z)[0].read == Bytes(64 * 4));
  const ValueRef square = g.call("aten.mul.Tensor", {{x}, {x}});
  CHECK(kernels_of(g, square)[0].read == Bytes(128 * 64 * 2));
}

TEST_CASE("norms, losses and embeddings have the kernels that profiles show") {
  HandGraph g;
  const ValueRef x = g.input("x", {32, 64});
  const ValueRef w = g.parameter("w", {64}), b = g.parameter("b", {64});
  const ValueRef n = g.call("aten.native_layer_norm.default", {{x}, HandGraph::list({64}), {w}, {b}, {1e-5}});
  CHECK(kernels_of(g, n).size() == 1);
  CHECK(kernels_of(g, n)[0].kind == MemoryKind::norm);
  const ValueRef table = g.parameter("table", {1000, 64});
  const ValueRef ids = g.input("ids", {32}, DType::int64), many = g.input("many", {4096}, DType::int64);
  const ValueRef rows = g.call("aten.embedding.default", {{table}, {ids}});
  CHECK(kernels_of(g, rows)[0].read == Bytes(32 * 64 * 4 + 32 * 8));  // the rows that are named, not the table
  const ValueRef few = g.call("aten.embedding_dense_backward.default", {{rows}, {ids}, {std::int64_t{1000}}, {std::int64_t{-1}}, {false}});
  CHECK(kernels_of(g, few).size() == 2);  // zeros, and one kernel up to 3,072 indices
  const ValueRef grown = g.input("grown", {4096, 64});
  const ValueRef lots = g.call("aten.embedding_dense_backward.default", {{grown}, {many}, {std::int64_t{1000}}, {std::int64_t{-1}}, {false}});
  CHECK(kernels_of(g, lots).size() > 10);  // sorted first
  const ValueRef padded = g.call("aten.constant_pad_nd.default", {{x}, HandGraph::list({0, 1})});
  CHECK(kernels_of(g, padded).size() == 2);  // fill, copy
}

TEST_CASE("what tracing adds and eager execution does not run has no kernel") {
  HandGraph g;
  const ValueRef x = g.input("x", {16, 8}, DType::bfloat16);
  const ValueRef dropped = g.call("aten.clone.default", {{x}}, {.module = "h.0.drop", .module_type = "Dropout"});
  const ValueRef sum = g.call("aten.sum.dim_IntList", {{dropped}, HandGraph::list({0}), {false}}, {.kwargs = {{"dtype", {std::string("float32")}}}});
  g.graph.outputs = {g.cast(sum, DType::bfloat16)};
  const auto kernels = eager(g.graph);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].name == "sum");
  CHECK(kernels[0].reads == std::vector<ValueRef>{x});
}

// Measured families of ATen's elementwise kernels: vectors where all is dense and of one type (no instructions counted but the
// operator's own), else so many flops' worth an element.
TEST_CASE("elementwise kernels that cannot read vectors are worth instructions") {
  HandGraph g;
  constexpr double kElements = 128 * 64;
  const ValueRef x = g.input("x", {128, 64}), y = g.input("y", {128, 64}), h = g.input("h", {128, 64}, DType::bfloat16);
  const ValueRef row = g.parameter("row", {64}, DType::bfloat16);
  const auto flops = [&](ValueRef v) { return kernels_of(g, v)[0].flops.value() / kElements; };
  CHECK(flops(g.call("aten.add.Tensor", {{x}, {y}})) == Approx(1.0));
  CHECK(flops(g.call("aten.add.Tensor", {{x}, {h}})) == Approx(252.0));
  CHECK(flops(g.call("aten.mul.Tensor", {{h}, {row}})) == Approx(172.0));
  const ValueRef turned = g.call("aten.transpose.int", {{x}, {std::int64_t{0}}, {std::int64_t{1}}});
  const ValueRef square = g.input("square", {64, 128});
  CHECK(flops(g.call("aten.add.Tensor", {{square}, {turned}})) == Approx(209.0));
}

// ATen copies, then masked_fill_ reads and writes every element; a mask that is broadcast keeps the kernel from reading vectors.
TEST_CASE("masked_fill is a copy and a pass over it") {
  HandGraph g;
  constexpr double kBytes = 128 * 64 * 4;
  const ValueRef x = g.input("x", {128, 64}), mask = g.input("mask", {128, 1}, DType::bool_);
  const auto kernels = kernels_of(g, g.call("aten.masked_fill.Scalar", {{x}, {mask}, {0.0}}));
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].kind == MemoryKind::copy);
  CHECK(kernels[0].read == Bytes(kBytes));
  CHECK(kernels[1].kind == MemoryKind::pointwise);
  CHECK(kernels[1].read == Bytes(kBytes + 128));
  CHECK(kernels[1].written == Bytes(kBytes));
  CHECK(kernels[1].flops.value() == Approx(128 * 64 * 209.0));
}

TEST_CASE("the host waits where it reads a result") {
  HandGraph g;
  const ValueRef x = g.input("x", {8}), y = g.call("aten.exp.default", {{x}});
  g.graph.outputs = {g.call("aten._to_copy.default", {{y}}, {.kwargs = {{"device", {std::string("cpu")}}}})};
  const auto kernels = eager(g.graph);
  REQUIRE(kernels.size() == 2);
  CHECK_FALSE(kernels[0].host_waits);
  CHECK(kernels[1].host_waits);
}
