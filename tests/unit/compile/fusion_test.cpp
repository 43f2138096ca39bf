// What becomes one kernel, and the bytes it moves, on graphs small enough to work out by hand.
#include "sim/compile/compilation.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using compile::Execution;
using compile::Kernel;
using graph::DType;
using graph::MemoryBound;
using graph::MemoryKind;
using graph::ValueRef;

namespace {

std::vector<Kernel> compiled(const graph::OperatorGraph& graph, compile::CompileOptions options = {}) {
  return compile::compile(graph, Execution::compiled, options).compiled.kernels;
}

const MemoryBound& memory(const Kernel& kernel) { return std::get<MemoryBound>(kernel.work); }

std::vector<std::string> names(const std::vector<Kernel>& kernels) {
  std::vector<std::string> found;
  for (const Kernel& kernel : kernels) found.push_back(kernel.name);
  return found;
}

bool reads(const Kernel& kernel, ValueRef v) { return std::find(kernel.reads.begin(), kernel.reads.end(), v) != kernel.reads.end(); }

}  // namespace

// relu(x * w + b), x [128, 256], w and b [256]: one kernel; reads 128*256*4 + 2 * 256*4, writes 128*256*4.
TEST_CASE("a pointwise chain is one kernel") {
  HandGraph g;
  const ValueRef x = g.input("x", {128, 256});
  const ValueRef w = g.parameter("w", {256}), b = g.parameter("b", {256});
  const ValueRef y = g.call("aten.relu.default", {{g.call("aten.add.Tensor", {{g.call("aten.mul.Tensor", {{x}, {w}})}, {b}})}});
  g.graph.outputs = {y};
  const auto kernels = compiled(g.graph);
  REQUIRE(names(kernels) == std::vector<std::string>{"triton_poi_fused_add_mul_relu"});
  CHECK(memory(kernels[0]).read == Bytes(128 * 256 * 4 + 2 * 256 * 4));
  CHECK(memory(kernels[0]).written == Bytes(128 * 256 * 4));
  CHECK(memory(kernels[0]).kind == MemoryKind::pointwise);
  CHECK(kernels[0].nodes.size() == 3);
  CHECK(kernels[0].saved == std::vector<ValueRef>{y});
}

// x / rms(x) * w over rows of 512 (in registers: read once): reads x and w, writes y; nothing of the row statistics leaves.
TEST_CASE("a norm written out of four operators is one kernel that reads its input once") {
  HandGraph g;
  const ValueRef x = g.input("x", {1024, 512});
  const ValueRef w = g.parameter("w", {512});
  const ValueRef mean = g.call("aten.mean.dim", {{g.call("aten.pow.Tensor_Scalar", {{x}, {std::int64_t{2}}})}, HandGraph::list({-1}), {true}});
  const ValueRef rstd = g.call("aten.rsqrt.default", {{g.call("aten.add.Tensor", {{mean}, {1e-6}})}});
  const ValueRef y = g.call("aten.mul.Tensor", {{w}, {g.call("aten.mul.Tensor", {{x}, {rstd}})}});
  g.graph.outputs = {y};
  const auto kernels = compiled(g.graph);
  REQUIRE(names(kernels) == std::vector<std::string>{"triton_per_fused_add_mean_mul_pow_rsqrt"});
  CHECK(memory(kernels[0]).read == Bytes(1024 * 512 * 4 + 512 * 4));
  CHECK(memory(kernels[0]).written == Bytes(1024 * 512 * 4));
  CHECK(memory(kernels[0]).kind == MemoryKind::norm);
}

// Rows of 128,256 float32 (513 kB) do not fit beside each other in the second-level cache: softmax reads them for the
// statistics and again for the result. Rows of 8,192 (32 kB) stay there.
TEST_CASE("a long row is read again for the second pass, a short one is not") {
  auto read = [](std::int64_t columns) {
    HandGraph g;
    const ValueRef x = g.input("x", {1024, columns});
    g.graph.outputs = {g.call("aten._softmax.default", {{x}, {std::int64_t{-1}}, {false}})};
    const auto kernels = compiled(g.graph);
    REQUIRE(names(kernels) == std::vector<std::string>{"triton_red_fused__softmax"});
    return memory(kernels[0]).read;
  };
  CHECK(read(128256) == Bytes(2.0 * 1024 * 128256 * 4));
  CHECK(read(8192) == Bytes(1024 * 8192 * 4));
}

// exp(x) is read by two products: a library kernel needs it in memory, so it is written once and read twice.
TEST_CASE("a value that a library kernel reads is written to memory") {
  HandGraph g;
  const ValueRef x = g.input("x", {64, 64});
  const ValueRef w = g.parameter("w", {64, 64}), v = g.parameter("v", {64, 64});
  const ValueRef e = g.call("aten.exp.default", {{x}});
  g.graph.outputs = {g.call("aten.mm.default", {{e}, {w}}), g.call("aten.mm.default", {{e}, {v}})};
  const auto kernels = compiled(g.graph);
  CHECK(names(kernels) == std::vector<std::string>{"triton_poi_fused_exp", "mm", "mm"});
  CHECK(reads(kernels[1], e));
  CHECK(kernels[2].inputs == std::vector<KernelId>{KernelId{0}});
}

// exp(x) is read by two pointwise chains that end in different library kernels: cheap enough to compute in both. Were it
// written, there would be a third pointwise kernel.
TEST_CASE("a cheap value with two pointwise readers is computed in both") {
  HandGraph g;
  const ValueRef x = g.input("x", {64, 64});
  const ValueRef w = g.parameter("w", {64, 64});
  const ValueRef e = g.call("aten.exp.default", {{x}});
  const ValueRef first = g.call("aten.mm.default", {{g.call("aten.add.Tensor", {{e}, {1.0}})}, {w}});
  const ValueRef second = g.call("aten.mm.default", {{g.call("aten.mul.Tensor", {{e}, {first}})}, {w}});
  g.graph.outputs = {second};
  const auto kernels = compiled(g.graph);
  CHECK(names(kernels) == std::vector<std::string>{"triton_poi_fused_add_exp", "mm", "triton_poi_fused_exp_mul", "mm"});
  const auto written = compiled(g.graph, {.inline_values = false, .fuse = false});
  CHECK(names(written) == std::vector<std::string>{"triton_poi_fused_exp", "triton_poi_fused_add", "mm", "triton_poi_fused_mul", "mm"});
}

// Column sums of [4096, 1024] float32: 4.2 million elements are under 32 a thread of the GPU, so blocks of 4 * 32 rows:
// 4096 / 128 = 32 parts. First kernel: the matrix in, 32 * 1024 partial sums out; second: those in, 1024 out.
TEST_CASE("a long reduction to few results is cut in two kernels") {
  HandGraph g;
  const ValueRef x = g.input("x", {4096, 1024});
  g.graph.outputs = {g.call("aten.sum.dim_IntList", {{x}, HandGraph::list({0})})};
  const auto kernels = compiled(g.graph);
  REQUIRE(names(kernels) == std::vector<std::string>{"triton_red_fused_sum", "triton_per_fused_sum"});
  CHECK(memory(kernels[0]).read == Bytes(4096 * 1024 * 4));
  CHECK(memory(kernels[0]).written == Bytes(32 * 1024 * 4));
  CHECK(kernels[0].scratch == Bytes(32 * 1024 * 4));
  CHECK(memory(kernels[1]).read == Bytes(32 * 1024 * 4));
  CHECK(memory(kernels[1]).written == Bytes(1024 * 4));
  CHECK(kernels[1].inputs == std::vector<KernelId>{KernelId{0}});
  CHECK(compiled(g.graph, {.split_reductions = false}).size() == 1);
}

// Both sums read x: one kernel reads it once (different results, equal loops).
TEST_CASE("two reductions of the same rows share a kernel") {
  HandGraph g;
  const ValueRef x = g.input("x", {1024, 768});
  const ValueRef a = g.call("aten.sum.dim_IntList", {{x}, HandGraph::list({-1}), {true}});
  const ValueRef b = g.call("aten.amax.default", {{g.call("aten.abs.default", {{x}})}, HandGraph::list({-1}), {true}});
  g.graph.outputs = {a, b};
  const auto kernels = compiled(g.graph);
  REQUIRE(kernels.size() == 1);
  CHECK(memory(kernels[0]).read == Bytes(1024 * 768 * 4));
  CHECK(memory(kernels[0]).written == Bytes(2 * 1024 * 4));
}

// Unrelated casts (autocast of two weights) share nothing and stay two kernels.
TEST_CASE("kernels that share no memory are not joined") {
  HandGraph g;
  const ValueRef a = g.cast(g.parameter("a", {256, 256}), DType::bfloat16), b = g.cast(g.parameter("b", {256, 256}), DType::bfloat16);
  const ValueRef x = g.input("x", {16, 256}, DType::bfloat16);
  g.graph.outputs = {g.call("aten.mm.default", {{x}, {a}}), g.call("aten.mm.default", {{x}, {b}})};
  const auto kernels = compiled(g.graph);
  CHECK(names(kernels) == std::vector<std::string>{"triton_poi_fused__to_copy", "mm", "triton_poi_fused__to_copy", "mm"});
  CHECK(memory(kernels[0]).kind == MemoryKind::copy);
  CHECK(memory(kernels[0]).read == Bytes(256 * 256 * 4));
  CHECK(memory(kernels[0]).written == Bytes(256 * 256 * 2));
}

// A matrix of 16,384 x 1,024 summed along rows and along columns: at least 5 Mi elements, twice as many rows as columns and
// 4,096 rows: one kernel, and ATen adds up its 16384 / 16 partial rows.
TEST_CASE("a tall matrix is summed along rows and columns in one pass") {
  auto build = [](std::int64_t rows) {
    HandGraph g;
    const ValueRef x = g.input("x", {rows, 1024});
    g.graph.outputs = {g.call("aten.sum.dim_IntList", {{x}, HandGraph::list({1})}), g.call("aten.sum.dim_IntList", {{x}, HandGraph::list({0})})};
    return compiled(g.graph);
  };
  const auto tall = build(16384);
  REQUIRE(names(tall) == std::vector<std::string>{"triton_per_fused_sum", "reduce_kernel"});
  CHECK(memory(tall[0]).read == Bytes(16384.0 * 1024 * 4));
  CHECK(memory(tall[0]).written == Bytes(16384 * 4 + 1024 * 1024 * 4));
  CHECK(memory(tall[1]).read == Bytes(1024 * 1024 * 4));
  CHECK(build(1024).size() == 3);  // rows; columns in parts; parts
}

TEST_CASE("common subexpressions run once") {
  HandGraph g;
  const ValueRef x = g.input("x", {64, 64});
  const ValueRef w = g.parameter("w", {64, 64});
  const ValueRef a = g.call("aten.mm.default", {{x}, {w}}), b = g.call("aten.mm.default", {{x}, {w}});
  g.graph.outputs = {a, b};
  CHECK(names(compiled(g.graph)) == std::vector<std::string>{"mm"});
  CHECK(compiled(g.graph, {.common_subexpressions = false}).size() == 2);
}

// The layout flags of a linear layer: x w^T has b transposed; the weight gradient g^T x has a transposed.
TEST_CASE("products keep their layouts through views") {
  HandGraph g;
  const ValueRef w = g.parameter("w", {8, 4});
  const ValueRef x = g.input("x", {2, 4});
  const ValueRef y = g.call("aten.mm.default", {{x}, {g.call("aten.t.default", {{w}})}});
  const ValueRef dy = g.input("dy", {2, 8});
  const ValueRef dw = g.call("aten.mm.default", {{g.call("aten.t.default", {{dy}})}, {x}});
  g.graph.outputs = {y, dw};
  const auto kernels = compiled(g.graph);
  REQUIRE(kernels.size() == 2);
  CHECK(std::get<graph::Matmul>(kernels[0].work) ==
        graph::Matmul{.m = 2, .n = 8, .k = 4, .a_transposed = false, .b_transposed = true, .dtype = DType::float32, .out_dtype = DType::float32});
  CHECK(std::get<graph::Matmul>(kernels[1].work) ==
        graph::Matmul{.m = 8, .n = 4, .k = 2, .a_transposed = true, .b_transposed = false, .dtype = DType::float32, .out_dtype = DType::float32});
  CHECK(reads(kernels[0], w));
}

TEST_CASE("a collective is a communication kernel that fusion does not cross") {
  HandGraph g;
  const ValueRef x = g.input("x", {1024}, DType::bfloat16);
  const ValueRef a = g.call("aten.relu.default", {{x}});
  const ValueRef r = g.call("_c10d_functional.all_reduce.default", {{a}, {std::string("sum")}, {std::string("tp")}});
  const ValueRef y = g.call("aten.relu.default", {{g.call("_c10d_functional.wait_tensor.default", {{r}})}});
  g.graph.outputs = {y};
  for (const Execution execution : {Execution::eager, Execution::compiled}) {
    const auto kernels = compile::compile(g.graph, execution, {}).compiled.kernels;
    REQUIRE(kernels.size() == 3);
    CHECK(kernels[1].is_communication);
    CHECK(kernels[1].communication.op == graph::CollectiveOp::all_reduce);
    CHECK(kernels[1].communication.group == "tp");
    CHECK(kernels[1].communication.bytes == Bytes(2048));
    CHECK(kernels[2].inputs == std::vector<KernelId>{KernelId{1}});
  }
}

TEST_CASE("an unknown operator is priced by its bytes and counted") {
  HandGraph g;
  const ValueRef x = g.input("x", {1024});
  const ValueRef y = g.raw("vendor.magic.default", {{x}}, {graph::contiguous({1024}, DType::float32)});
  g.graph.outputs = {g.call("aten.relu.default", {{y}})};
  const auto result = compile::compile(g.graph, Execution::compiled, {});
  REQUIRE(result.diagnostics.entries().contains("compile.unknown_operator"));
  REQUIRE(result.compiled.kernels.size() == 2);
  CHECK(memory(result.compiled.kernels[0]).read == Bytes(4096));
  CHECK(memory(result.compiled.kernels[0]).written == Bytes(4096));
}

// A gradient in rows of an embedding table: zeros of the table's size, then the rows added in place.
TEST_CASE("an embedding gradient fills the table and adds rows") {
  HandGraph g;
  const ValueRef table = g.parameter("table", {5000, 64});
  const ValueRef ids = g.input("ids", {2, 32}, DType::int64);
  const ValueRef rows = g.call("aten.embedding.default", {{table}, {ids}});
  const ValueRef loss = g.call("aten.sum.default", {{rows}});
  g.graph.outputs = {loss};
  const ValueRef dy = g.call("aten.expand.default", {{g.backward_of(loss)}, HandGraph::list({2, 32, 64})});
  g.graph.gradients[table.node] =
      g.call("aten.embedding_dense_backward.default", {{dy}, {ids}, {std::int64_t{5000}}, {std::int64_t{-1}}, {false}});
  const auto kernels = compiled(g.graph);
  REQUIRE(kernels.size() == 4);  // gathered rows summed; the loss gradient; zeros; rows added
  CHECK(memory(kernels[0]).read == Bytes(2 * 32 * 64 * 4 + 2 * 32 * 8));  // the rows, not the table
  CHECK(kernels[1].name == "ones_like");
  CHECK(memory(kernels[2]).written == Bytes(5000 * 64 * 4));
  CHECK(memory(kernels[3]).kind == MemoryKind::embedding_gradient);
  CHECK(memory(kernels[3]).written == Bytes(2 * 32 * 64 * 4));
}
