#include "sim/graph/tensor_type.h"
#include "tests/support/catch.h"
#include "tests/unit/graph/graph_builder.h"

using namespace sgsim;
using namespace sgsim::graph;
using namespace sgsim::graph::test;

namespace {

constexpr auto f32 = DType::float32;
constexpr auto bf16 = DType::bfloat16;
using Types = std::vector<TensorType>;

}  // namespace

TEST_CASE("Views share memory: strides follow") {
  GraphBuilder b;
  const ValueRef x = b.input(contiguous({4, 6}, f32));
  CHECK(b.inferred("aten.t.default", {arg(x)}) == Types{strided({6, 4}, f32, {1, 6})});
  CHECK(b.inferred("aten.view.default", {arg(x), sizes({2, -1})}) == Types{contiguous({2, 12}, f32)});
  CHECK(b.inferred("aten.unsqueeze.default", {arg(x), arg(1)}) == Types{contiguous({4, 1, 6}, f32)});
  CHECK(b.inferred("aten.slice.Tensor", {arg(x), arg(1), arg(2), arg(INT64_MAX)}) == Types{strided({4, 4}, f32, {6, 1})});
  CHECK(b.inferred("aten.slice.Tensor", {arg(x), arg(0), arg(0), arg(4), arg(3)}) == Types{strided({2, 6}, f32, {18, 1})});
  CHECK(b.inferred("aten.select.int", {arg(x), arg(1), arg(0)}) == Types{strided({4}, f32, {6})});
  CHECK(b.inferred("aten.expand.default", {arg(x), sizes({3, -1, 6})}) == Types{strided({3, 4, 6}, f32, {0, 6, 1})});
  CHECK(b.inferred("aten.split.Tensor", {arg(x), arg(4), arg(1)}) ==
        Types{strided({4, 4}, f32, {6, 1}), strided({4, 2}, f32, {6, 1})});
  CHECK(b.inferred("aten.permute.default", {arg(x), sizes({1, 0})}) == Types{strided({6, 4}, f32, {1, 6})});
}

TEST_CASE("A view that does not fit is refused") {
  GraphBuilder b;
  const ValueRef x = b.input(contiguous({4, 6}, f32));
  CHECK_FALSE(b.inferred("aten.view.default", {arg(x), sizes({5, -1})}));
  CHECK_FALSE(b.inferred("aten.view.default", {arg(x), sizes({25})}));
  CHECK_FALSE(b.inferred("aten.view.default", {arg(x), sizes({-1, -1})}));
  CHECK_FALSE(b.inferred("aten.transpose.int", {arg(x), arg(0), arg(2)}));
  CHECK_FALSE(b.inferred("aten.permute.default", {arg(x), sizes({0, 0})}));
  CHECK_FALSE(b.inferred("aten.expand.default", {arg(x), sizes({8, 6})}));
}

TEST_CASE("Pointwise operators broadcast, promote and keep the operands' layout") {
  GraphBuilder b;
  const ValueRef wide = b.input(contiguous({2, 3, 4}, f32));
  const ValueRef narrow = b.input(contiguous({4}, bf16));
  const ValueRef scalar = b.input(contiguous({}, f32));
  const ValueRef count = b.input(contiguous({3, 1}, DType::int64));
  CHECK(b.inferred("aten.add.Tensor", {arg(wide), arg(narrow)}) == Types{contiguous({2, 3, 4}, f32)});
  // A zero-dimensional tensor of the same category does not widen; a float does widen an integer.
  CHECK(b.inferred("aten.mul.Tensor", {arg(narrow), arg(scalar)}) == Types{contiguous({4}, bf16)});
  CHECK(b.inferred("aten.mul.Tensor", {arg(count), arg(0.5)}) == Types{contiguous({3, 1}, f32)});
  CHECK(b.inferred("aten.mul.Tensor", {arg(narrow), arg(count)}) == Types{contiguous({3, 4}, bf16)});
  CHECK(b.inferred("aten.le.Tensor", {arg(count), arg(wide)}) == Types{contiguous({2, 3, 4}, DType::bool_)});
  CHECK_FALSE(b.inferred("aten.add.Tensor", {arg(wide), arg(b.input(contiguous({5}, f32)))}));
  // [b, h, s, d] lying as [b, s, h, d] stays so, also when a part is taken of it.
  const ValueRef heads = b.input(strided({2, 3, 4, 8}, bf16, {96, 8, 24, 1}));
  const ValueRef half = b.call("aten.slice.Tensor", {arg(heads), arg(3), arg(0), arg(4)});
  CHECK(b.inferred("aten.neg.default", {arg(half)}) == Types{strided({2, 3, 4, 4}, bf16, {48, 4, 12, 1})});
}

TEST_CASE("Casts and clones") {
  GraphBuilder b;
  const ValueRef x = b.input(strided({6, 4}, f32, {1, 6}));
  CHECK(b.inferred("aten._to_copy.default", {arg(x)}, dtype_is("bfloat16")) == Types{strided({6, 4}, bf16, {1, 6})});
  CHECK(b.inferred("aten.clone.default", {arg(x)}, {{"memory_format", Argument{std::string("torch.contiguous_format")}}}) ==
        Types{contiguous({6, 4}, f32)});
}

TEST_CASE("Matrix products") {
  GraphBuilder b;
  const ValueRef a = b.input(contiguous({4, 6}, bf16)), w = b.input(strided({6, 5}, bf16, {1, 6})), bias = b.input(contiguous({5}, bf16));
  CHECK(b.inferred("aten.mm.default", {arg(a), arg(w)}) == Types{contiguous({4, 5}, bf16)});
  CHECK(b.inferred("aten.addmm.default", {arg(bias), arg(a), arg(w)}) == Types{contiguous({4, 5}, bf16)});
  CHECK_FALSE(b.inferred("aten.mm.default", {arg(w), arg(a)}));
  CHECK_FALSE(b.inferred("aten.mm.default", {arg(a), arg(b.input(contiguous({6, 5}, f32)))}));  // mixed types
  const ValueRef p = b.input(contiguous({7, 4, 6}, bf16)), q = b.input(contiguous({7, 6, 2}, bf16));
  CHECK(b.inferred("aten.bmm.default", {arg(p), arg(q)}) == Types{contiguous({7, 4, 2}, bf16)});
  CHECK(b.inferred("aten.linear.default", {arg(p), arg(b.input(contiguous({9, 6}, bf16)))}) == Types{contiguous({7, 4, 9}, bf16)});
}

TEST_CASE("Reductions, softmax, norms, loss") {
  GraphBuilder b;
  const ValueRef x = b.input(contiguous({2, 3, 4}, bf16)), w = b.input(contiguous({4}, f32));
  CHECK(b.inferred("aten.sum.dim_IntList", {arg(x), sizes({0, 1}), arg(true)}, dtype_is("float32")) == Types{contiguous({1, 1, 4}, f32)});
  CHECK(b.inferred("aten.mean.dim", {arg(x), sizes({-1}), arg(false)}) == Types{contiguous({2, 3}, bf16)});
  CHECK(b.inferred("aten.sum.default", {arg(x)}) == Types{contiguous({}, bf16)});
  CHECK(b.inferred("aten.cumsum.default", {arg(b.input(contiguous({5}, DType::bool_))), arg(0)}) == Types{contiguous({5}, DType::int64)});
  CHECK(b.inferred("aten._softmax.default", {arg(x), arg(-1), arg(true)}) == Types{contiguous({2, 3, 4}, f32)});
  CHECK(b.inferred("aten.native_layer_norm.default", {arg(x), sizes({4}), arg(w), arg(w), arg(1e-5)}) ==
        Types{contiguous({2, 3, 4}, bf16), contiguous({2, 3, 1}, f32), contiguous({2, 3, 1}, f32)});
  const ValueRef scores = b.input(contiguous({6, 10}, f32)), labels = b.input(contiguous({6}, DType::int64));
  CHECK(b.inferred("aten.nll_loss_forward.default", {arg(scores), arg(labels), none(), arg(1), arg(-100)}) ==
        Types{contiguous({}, f32), contiguous({}, f32)});
}

TEST_CASE("Data movement") {
  GraphBuilder b;
  const ValueRef table = b.input(contiguous({100, 8}, f32)), ids = b.input(contiguous({2, 3}, DType::int64));
  CHECK(b.inferred("aten.embedding.default", {arg(table), arg(ids)}) == Types{contiguous({2, 3, 8}, f32)});
  const ValueRef grad = b.input(contiguous({2, 3, 8}, f32));
  CHECK(b.inferred("aten.embedding_dense_backward.default", {arg(grad), arg(ids), arg(100), arg(-1), arg(false)}) ==
        Types{contiguous({100, 8}, f32)});
  CHECK(b.inferred("aten.cat.default", {values({grad, grad}), arg(-1)}) == Types{contiguous({2, 3, 16}, f32)});
  CHECK(b.inferred("aten.constant_pad_nd.default", {arg(ids), sizes({0, 1}), arg(-100.0)}) == Types{contiguous({2, 4}, DType::int64)});
  CHECK(b.inferred("aten.index.Tensor", {arg(table), Argument{ArgumentList{arg(ids)}}}) == Types{contiguous({2, 3, 8}, f32)});
  CHECK(b.inferred("aten.topk.default", {arg(grad), arg(2), arg(-1)}) ==
        Types{contiguous({2, 3, 2}, f32), contiguous({2, 3, 2}, DType::int64)});
  CHECK(b.inferred("aten.arange.default", {arg(5)}) == Types{contiguous({5}, DType::int64)});
  CHECK(b.inferred("aten.full.default", {sizes({2, 2}), arg(1)}) == Types{contiguous({2, 2}, DType::int64)});
}

TEST_CASE("Convolution and pooling keep channels last") {
  GraphBuilder b;
  const ValueRef x = b.input(strided({8, 3, 32, 32}, bf16, {3072, 1, 96, 3})), w = b.input(strided({16, 3, 3, 3}, bf16, {27, 1, 9, 3}));
  const std::vector<Argument> args = {arg(x), arg(w), none(), sizes({2, 2}), sizes({1, 1}), sizes({1, 1}), arg(false), sizes({0, 0}), arg(1)};
  CHECK(b.inferred("aten.convolution.default", args) == Types{strided({8, 16, 16, 16}, bf16, {4096, 1, 256, 16})});
  CHECK(b.inferred("aten.max_pool2d_with_indices.default", {arg(x), sizes({3, 3}), sizes({2, 2}), sizes({1, 1})}) ==
        Types{strided({8, 3, 16, 16}, bf16, {768, 1, 48, 3}), strided({8, 3, 16, 16}, DType::int64, {768, 1, 48, 3})});
  const ValueRef grad = b.input(contiguous({8, 16, 16, 16}, bf16));
  const std::vector<Argument> back = {arg(grad), arg(x), arg(w), sizes({0}), sizes({2, 2}), sizes({1, 1}), sizes({1, 1}),
                                      arg(false), sizes({0, 0}), arg(1), flags({false, true, false})};
  CHECK(b.inferred("aten.convolution_backward.default", back) == Types{absent(), strided({16, 3, 3, 3}, bf16, {27, 1, 9, 3}), absent()});
}

TEST_CASE("Functional collectives") {
  GraphBuilder b;
  const ValueRef x = b.input(contiguous({8, 4}, bf16));
  CHECK(b.inferred("_c10d_functional.all_gather_into_tensor.default", {arg(x), arg(4), Argument{std::string("0")}}) == Types{contiguous({32, 4}, bf16)});
  CHECK(b.inferred("_c10d_functional.reduce_scatter_tensor.default", {arg(x), Argument{std::string("sum")}, arg(4), Argument{std::string("0")}}) ==
        Types{contiguous({2, 4}, bf16)});
  CHECK_FALSE(b.inferred("_c10d_functional.reduce_scatter_tensor.default", {arg(x), Argument{std::string("sum")}, arg(3), Argument{std::string("0")}}));
  CHECK(collective_of("_c10d_functional.all_reduce.default") == CollectiveOp::all_reduce);
  CHECK_FALSE(collective_of("_c10d_functional.wait_tensor.default").has_value());
}

TEST_CASE("Classes") {
  CHECK(classify("aten.mm.default") == OperatorClass::matmul);
  CHECK(classify("aten.add.Tensor") == OperatorClass::pointwise);
  CHECK(classify("aten.add_.Tensor") == OperatorClass::pointwise);
  CHECK(classify("aten.detach.default") == OperatorClass::view);
  CHECK(classify("aten._to_copy.default") == OperatorClass::copy);
  CHECK(classify("aten._scaled_dot_product_flash_attention_backward.default") == OperatorClass::attention);
  CHECK(classify("_c10d_functional.all_reduce.default") == OperatorClass::collective);
  CHECK(classify("aten.no_such_operator.default") == OperatorClass::unknown);
  CHECK(classify("") == OperatorClass::unknown);
}
