#include "sim/graph/node_work.h"

#include "sim/graph/tensor_type.h"
#include "tests/support/catch.h"
#include "tests/unit/graph/graph_builder.h"

using namespace sgsim;
using namespace sgsim::graph;
using namespace sgsim::graph::test;

TEST_CASE("The three products of a linear layer, by their layouts") {
  GraphBuilder b;
  const ValueRef x = b.input(contiguous({32, 8}, DType::bfloat16)), w = b.input(contiguous({16, 8}, DType::bfloat16));
  const ValueRef wt = b.call("aten.t.default", {arg(w)});
  const ValueRef y = b.call("aten.mm.default", {arg(x), arg(wt)});
  const ValueRef gt = b.call("aten.t.default", {arg(y)});
  b.call("aten.mm.default", {arg(gt), arg(x)});  // weight gradient
  const ValueRef wtt = b.call("aten.t.default", {arg(wt)});
  b.call("aten.mm.default", {arg(y), arg(wtt)});  // input gradient
  const auto found = matmuls_of(b.graph);
  REQUIRE(found.size() == 3);
  CHECK(found[0].work == Matmul{.m = 32, .n = 16, .k = 8, .b_transposed = true});
  CHECK(found[1].work == Matmul{.m = 16, .n = 8, .k = 32, .a_transposed = true});
  CHECK(found[2].work == Matmul{.m = 32, .n = 8, .k = 16});
}

TEST_CASE("A batched product and a linear over three dimensions") {
  GraphBuilder b;
  const ValueRef q = b.input(contiguous({6, 5, 4}, DType::bfloat16)), k = b.input(contiguous({6, 7, 4}, DType::bfloat16));
  const ValueRef kt = b.call("aten.transpose.int", {arg(k), arg(1), arg(2)});
  b.call("aten.bmm.default", {arg(q), arg(kt)});
  b.call("aten.linear.default", {arg(q), arg(b.input(contiguous({9, 4}, DType::bfloat16)))});
  const auto found = matmuls_of(b.graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].work == Matmul{.batch = 6, .m = 5, .n = 7, .k = 4, .b_transposed = true});
  CHECK(found[1].work == Matmul{.m = 30, .n = 9, .k = 4, .b_transposed = true});
}

TEST_CASE("Attention: causal by flag, dense by mask") {
  GraphBuilder b;
  const TensorType heads = contiguous({2, 8, 64, 16}, DType::bfloat16), kv = contiguous({2, 2, 64, 16}, DType::bfloat16);
  const ValueRef q = b.input(heads), k = b.input(kv), v = b.input(kv), mask = b.input(contiguous({2, 1, 64, 64}, DType::bfloat16));
  b.call("aten._scaled_dot_product_flash_attention.default", {arg(q), arg(k), arg(v), arg(0.0), arg(true)});
  b.call("aten._scaled_dot_product_cudnn_attention.default", {arg(q), arg(k), arg(v), arg(mask), arg(true)});
  const auto found = attentions_of(b.graph);
  REQUIRE(found.size() == 2);
  const Attention expected{.batch = 2, .heads = 8, .kv_heads = 2, .q_len = 64, .kv_len = 64, .head_dim = 16};
  CHECK(found[0].work == expected);
  Attention dense = expected;
  dense.causal = false;
  dense.dense_mask = true;
  CHECK(found[1].work == dense);
}

TEST_CASE("A convolution's backward is one or two convolutions") {
  GraphBuilder b;
  const ValueRef grad = b.input(contiguous({8, 16, 16, 16}, DType::bfloat16)), x = b.input(contiguous({8, 3, 32, 32}, DType::bfloat16)),
                 w = b.input(contiguous({16, 3, 3, 3}, DType::bfloat16));
  const auto back = [&](bool input) {
    b.call("aten.convolution_backward.default", {arg(grad), arg(x), arg(w), sizes({0}), sizes({2, 2}), sizes({1, 1}), sizes({1, 1}),
                                                 arg(false), sizes({0, 0}), arg(1), flags({input, true, false})});
  };
  back(false);
  back(true);
  const auto found = convolutions_of(b.graph);
  REQUIRE(found.size() == 3);
  CHECK(found[0].work.pass == ConvolutionPass::weight_gradient);
  CHECK(found[1].work.pass == ConvolutionPass::input_gradient);
  CHECK(found[2].work.pass == ConvolutionPass::weight_gradient);
  CHECK(found[0].work.stride == 2);
  CHECK(found[0].work.in_height == 32);
}
