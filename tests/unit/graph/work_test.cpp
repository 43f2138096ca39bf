#include "sim/graph/work.h"

#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::graph;

TEST_CASE("A matrix product: 2 m n k flops, each matrix once") {
  const Matmul product{.batch = 3, .m = 4, .n = 5, .k = 6, .dtype = DType::bfloat16, .out_dtype = DType::float32};
  CHECK(flops_of(product).value() == 2.0 * 3 * 4 * 5 * 6);
  // (3*4*6 + 3*6*5) elements of 2 bytes read, 3*4*5 of 4 bytes written.
  CHECK(bytes_of(product).value() == (72 + 90) * 2 + 60 * 4);
}

TEST_CASE("A bias is read once") {
  const Matmul product{.batch = 1, .m = 4, .n = 5, .k = 6, .bias = true};
  CHECK(bytes_of(product).value() == (24 + 30 + 5) * 2 + 20 * 2);
}

TEST_CASE("Attention: two products forward, five backward") {
  Attention attention{.batch = 2, .heads = 3, .kv_heads = 3, .q_len = 4, .kv_len = 4, .head_dim = 8, .causal = false};
  // Each product has 2 * 4*4 * 8 flops a head; 2*3 heads.
  CHECK(flops_of(attention).value() == 2 * (2.0 * 16 * 8) * 6);
  attention.pass = Pass::backward;
  CHECK(flops_of(attention).value() == 5 * (2.0 * 16 * 8) * 6);
}

TEST_CASE("Causal attention counts the lower triangle with its diagonal") {
  const Attention square{.batch = 1, .heads = 1, .kv_heads = 1, .q_len = 4, .kv_len = 4, .head_dim = 1, .causal = true};
  CHECK(flops_of(square).value() == 2 * 2.0 * (1 + 2 + 3 + 4));
  // Two queries at the end of four keys see three and four of them.
  const Attention longer{.batch = 1, .heads = 1, .kv_heads = 1, .q_len = 2, .kv_len = 4, .head_dim = 1, .causal = true};
  CHECK(flops_of(longer).value() == 2 * 2.0 * (3 + 4));
}

TEST_CASE("Attention bytes: grouped keys and values are read once, a dense mask for each sample") {
  Attention attention{.batch = 2, .heads = 4, .kv_heads = 1, .q_len = 8, .kv_len = 8, .head_dim = 16, .causal = false};
  const double query = 2 * 4 * 8 * 16 * 2.0, key = 2 * 1 * 8 * 16 * 2.0, statistics = 2 * 4 * 8 * 4.0;
  CHECK(bytes_of(attention).value() == 2 * query + 2 * key + statistics);
  attention.dense_mask = true;
  CHECK(bytes_of(attention).value() == 2 * query + 2 * key + statistics + 2 * 8 * 8 * 2.0);
  attention.dense_mask = false;
  attention.pass = Pass::backward;  // q, k, v, out, d out, statistics in; dq, dk, dv out
  CHECK(bytes_of(attention).value() == 4 * query + 4 * key + statistics);
}

TEST_CASE("Convolution: ResNet-50's first layer") {
  // 224x224x3, 64 filters of 7x7, stride 2, padding 3 -> 112x112x64: 2 * 112^2 * 64 * 147 flops an image.
  const Convolution conv1{.batch = 256, .in_channels = 3, .out_channels = 64, .in_height = 224, .in_width = 224,
                          .kernel_height = 7, .kernel_width = 7, .stride = 2, .padding = 3};
  CHECK(flops_of(conv1).value() == 256.0 * 2 * 112 * 112 * 64 * 147);
  const double elements = 256.0 * 3 * 224 * 224 + 64 * 147 + 256.0 * 64 * 112 * 112;
  CHECK(bytes_of(conv1).value() == elements * 2);
}

TEST_CASE("Grouped convolution divides its products by the groups") {
  const Convolution depthwise{.batch = 1, .in_channels = 8, .out_channels = 8, .in_height = 4, .in_width = 4,
                              .kernel_height = 3, .kernel_width = 3, .stride = 1, .padding = 1, .groups = 8};
  CHECK(flops_of(depthwise).value() == 2.0 * 16 * 8 * 9);
}
