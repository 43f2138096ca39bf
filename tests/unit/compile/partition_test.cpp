// What the backward pass recomputes and what it keeps.
#include "sim/compile/compilation.h"
#include "tests/support/catch.h"
#include "tests/unit/compile/hand_graph.h"

using namespace sgsim;
using compile::Kernel;
using graph::DType;
using graph::Phase;
using graph::ValueRef;

namespace {

struct Gated {
  HandGraph g;
  ValueRef x, gate, up, silu, hidden, loss;
};

/// loss = sum(silu(x a^T) * (x b^T) c^T) with all gradients, in bfloat16 (no casts).
Gated gated() {
  Gated m;
  HandGraph& g = m.g;
  const auto type = DType::bfloat16;
  const ValueRef a = g.parameter("a", {256, 64}, type), b = g.parameter("b", {256, 64}, type), c = g.parameter("c", {64, 256}, type);
  m.x = g.input("x", {512, 64}, type);
  auto t = [&](ValueRef v) { return g.call("aten.t.default", {{v}}); };
  auto mm = [&](ValueRef l, ValueRef r) { return g.call("aten.mm.default", {{l}, {r}}); };
  m.gate = mm(m.x, t(a));
  m.up = mm(m.x, t(b));
  m.silu = g.call("aten.silu.default", {{m.gate}});
  m.hidden = g.call("aten.mul.Tensor", {{m.silu}, {m.up}});
  const ValueRef y = mm(m.hidden, t(c));
  m.loss = g.call("aten.sum.default", {{y}});
  g.graph.outputs = {m.loss};
  const ValueRef dy = g.call("aten.expand.default", {{g.backward_of(m.loss)}, HandGraph::list({512, 64})});
  const ValueRef dc = mm(t(dy), m.hidden), dh = mm(dy, c);
  const ValueRef dup = g.call("aten.mul.Tensor", {{dh}, {m.silu}});
  const ValueRef dgate = g.call("aten.silu_backward.default", {{g.call("aten.mul.Tensor", {{dh}, {m.up}})}, {m.gate}});
  const ValueRef db = mm(t(dup), m.x), da = mm(t(dgate), m.x);
  g.graph.gradients = {{a.node, da}, {b.node, db}, {c.node, dc}};
  return m;
}

std::vector<Kernel> kernels_of(const Gated& m, bool recompute) {
  return compile::compile(m.g.graph, compile::Execution::compiled, {.recompute = recompute}).compiled.kernels;
}

bool covers(const Kernel& kernel, ValueRef v) { return std::find(kernel.nodes.begin(), kernel.nodes.end(), v.node) != kernel.nodes.end(); }
bool saved_forward(const std::vector<Kernel>& kernels, ValueRef v) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& k) {
    return k.phase == Phase::forward && std::find(k.saved.begin(), k.saved.end(), v) != k.saved.end();
  });
}

}  // namespace

// Between the products gate and up (must be kept, or their operands) and the backward pass, silu(gate) is cheap: it is
// computed again instead of being written (512 x 256 x 2 bytes). `hidden` feeds a product of the backward pass: kept.
TEST_CASE("cheap values are recomputed, what products need is kept") {
  const Gated m = gated();
  const auto kernels = kernels_of(m, true);
  CHECK_FALSE(saved_forward(kernels, m.silu));
  CHECK(saved_forward(kernels, m.gate));
  CHECK(saved_forward(kernels, m.up));
  CHECK(saved_forward(kernels, m.hidden));
  const auto again = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.phase == Phase::backward && covers(k, m.silu); });
  REQUIRE(again != kernels.end());
  // One kernel for both gradients: reads dh, gate and up, writes two: 3 and 2 times 512 x 256 x 2 bytes.
  CHECK(std::get<graph::MemoryBound>(again->work).read == Bytes(3 * 512 * 256 * 2));
  CHECK(std::get<graph::MemoryBound>(again->work).written == Bytes(2 * 512 * 256 * 2));
}

TEST_CASE("without recomputation what the backward pass reads is saved") {
  const Gated m = gated();
  CHECK(saved_forward(kernels_of(m, false), m.silu));
}

TEST_CASE("every value that a kernel reads is made before it or given") {
  const Gated m = gated();
  for (const bool recompute : {true, false}) {
    const auto kernels = kernels_of(m, recompute);
    std::vector<ValueRef> made;
    for (const Kernel& kernel : kernels) {
      for (const ValueRef v : kernel.reads) {
        const bool given = m.g.graph.node(v.node).kind != graph::NodeKind::call;
        CHECK((given || std::find(made.begin(), made.end(), v) != made.end()));
      }
      for (const KernelId input : kernel.inputs) CHECK(input.value < static_cast<std::uint32_t>(&kernel - kernels.data()));
      made.insert(made.end(), kernel.saved.begin(), kernel.saved.end());
    }
    for (const auto& [parameter, gradient] : m.g.graph.gradients)
      CHECK(std::find(made.begin(), made.end(), gradient) != made.end());
  }
}

TEST_CASE("compiling and eager execution do the same products") {
  const Gated m = gated();
  auto products = [&](compile::Execution execution) {
    std::vector<graph::Matmul> found;
    for (const Kernel& k : compile::compile(m.g.graph, execution, {}).compiled.kernels) {
      if (const auto* work = std::get_if<graph::Matmul>(&k.work)) found.push_back(*work);
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  CHECK(products(compile::Execution::eager).size() == 7);
  CHECK(products(compile::Execution::eager) == products(compile::Execution::compiled));
  CHECK(products(compile::Execution::cuda_graph) == products(compile::Execution::compiled));
}
