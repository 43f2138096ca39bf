#include <numeric>

#include "sim/compile/passes.h"
#include "sim/core/error.h"
#include "sim/graph/node_work.h"
#include "sim/graph/work.h"
#include "sim/lower/shard/shard.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using graph::Phase;
using lower::shard::Options;
using lower::shard::shard_tensor_parallel;
using Lines = std::vector<std::string>;

namespace {

plan::ModelShape shape_of(std::int64_t vocabulary) {
  plan::ModelShape model;
  model.vocab = vocabulary;
  return model;
}

double product_flops(const graph::OperatorGraph& graph) {
  double sum = 0.0;
  for (const auto& product : graph::matmuls_of(graph)) sum += graph::flops_of(product.work).value();
  for (const auto& attention : graph::attentions_of(graph)) sum += graph::flops_of(attention.work).value();
  return sum;
}

}  // namespace

// tokens 4, hidden 8, ffn 16, vocabulary 256, tp 2.
TEST_CASE("a two-product MLP: columns, then rows, one sum each way") {
  const auto graph = small::mlp_model({});
  REQUIRE(compile::verify(graph).empty());
  const auto sharded = shard_tensor_parallel(graph, shape_of(256), {.tp = 2});
  CHECK(compile::verify(sharded.graph) == Lines{});
  const auto shapes = small::parameters(sharded.graph);
  CHECK(shapes.at("layers.0.up.weight") == small::Dims{8, 8});    // columns of x W^T: rows of W
  CHECK(shapes.at("layers.0.down.weight") == small::Dims{8, 8});  // [8, 16 / 2]
  CHECK(shapes.at("layers.0.norm.weight") == small::Dims{8});
  CHECK(shapes.at("embed.weight") == small::Dims{128, 8});        // 256 rows over 2
  CHECK(shapes.at("head.weight") == small::Dims{128, 8});
  // Embedding rows, down product; cross entropy: maxima, sums, target logits, one number a token.
  CHECK(small::collectives(sharded.graph, Phase::forward) ==
        Lines{"all_reduce [1, 4, 8] bfloat16", "all_reduce [4, 8] bfloat16", "all_reduce [4, 1] float32",
              "all_reduce [4, 1] float32", "all_reduce [4, 1] float32"});
  // Input gradients of the column-parallel products: head, up.
  CHECK(small::collectives(sharded.graph, Phase::backward) == Lines{"all_reduce [4, 8] bfloat16", "all_reduce [4, 8] bfloat16"});
  CHECK(sharded.notes.empty());
  CHECK(sharded.diagnostics.empty());
}

TEST_CASE("sequence parallel: gathers before columns, scatters after rows, mirrored backwards") {
  const auto sharded = shard_tensor_parallel(small::mlp_model({}), shape_of(256), {.tp = 2, .sequence_parallel = true});
  CHECK(compile::verify(sharded.graph) == Lines{});
  // Shapes are those of the results: a gather gives 4 tokens, a scatter 2.
  CHECK(small::collectives(sharded.graph, Phase::forward) ==
        Lines{"reduce_scatter_tensor [2, 8] bfloat16", "all_gather_into_tensor [4, 8] bfloat16",
              "reduce_scatter_tensor [2, 8] bfloat16", "all_gather_into_tensor [4, 8] bfloat16",
              "all_reduce [4, 1] float32", "all_reduce [4, 1] float32", "all_reduce [4, 1] float32"});
  Lines backward = small::collectives(sharded.graph, Phase::backward);
  std::sort(backward.begin(), backward.end());
  // Gathered: head input again, gradient of down, up input again, gradient of the embedding. Scattered: input gradients of
  // head and up.
  CHECK(backward == Lines{"all_gather_into_tensor [4, 8] bfloat16", "all_gather_into_tensor [4, 8] bfloat16",
                          "all_gather_into_tensor [4, 8] bfloat16", "all_gather_into_tensor [4, 8] bfloat16",
                          "reduce_scatter_tensor [2, 8] bfloat16", "reduce_scatter_tensor [2, 8] bfloat16"});
  // Norm and residual work on half the tokens.
  for (const auto& node : sharded.graph.nodes) {
    if (node.target == "aten.native_layer_norm.default") CHECK(node.outputs[0].shape == small::Dims{1, 2, 8});
  }
}

TEST_CASE("a bias after a row-parallel product is added once, after the sum") {
  for (const bool tokens : {false, true}) {
    const auto sharded = shard_tensor_parallel(small::mlp_model({.bias = true}), shape_of(256), {.tp = 2, .sequence_parallel = tokens});
    CHECK(compile::verify(sharded.graph) == Lines{});
    const auto shapes = small::parameters(sharded.graph);
    CHECK(shapes.at("layers.0.up.bias") == small::Dims{8});    // 16 over 2
    CHECK(shapes.at("layers.0.down.bias") == small::Dims{8});  // whole
    const std::string total = tokens ? "_c10d_functional.reduce_scatter_tensor.default" : "_c10d_functional.all_reduce.default";
    bool seen = false;
    for (const auto& node : sharded.graph.nodes) {
      if (node.target != "aten.add.Tensor" || node.phase != Phase::forward || node.args.size() != 2) continue;
      const auto* left = std::get_if<graph::ValueRef>(&node.args[0].value);
      const auto* right = std::get_if<graph::ValueRef>(&node.args[1].value);
      if (left == nullptr || right == nullptr || sharded.graph.node(right->node).name != "layers.0.down.bias") continue;
      seen = true;
      CHECK(sharded.graph.node(left->node).target == total);
    }
    CHECK(seen);
  }
}

TEST_CASE("attention divides by heads, with fewer key and value heads too") {
  for (const bool fused : {true, false}) {
    for (const bool joined : {false, true}) {
      for (const bool tokens : {false, true}) {
        for (const std::int64_t batch : {1, 3}) {
          const small::Attention model{.vocabulary = 512, .batch = batch, .fused = fused, .joined = joined};
          const auto graph = small::attention_model(model);
          REQUIRE(compile::verify(graph).empty());
          const auto sharded = shard_tensor_parallel(graph, shape_of(512), {.tp = 4, .sequence_parallel = tokens});
          CHECK(compile::verify(sharded.graph) == Lines{});
          CHECK(sharded.diagnostics.empty());
          CHECK(product_flops(sharded.graph) * 4.0 == product_flops(graph));
          CHECK(small::parameters(sharded.graph).at("layers.0.attention.o.weight") == small::Dims{32, 8});
          // q, k and v reduce the sum of their input gradients once: head, attention.
          const auto backward = small::collectives(sharded.graph, Phase::backward);
          const auto sums = std::count_if(backward.begin(), backward.end(), [](const std::string& line) { return !line.starts_with("all_gather"); });
          CHECK(sums == 2);
        }
      }
    }
  }
  const auto grouped = shard_tensor_parallel(small::attention_model({.kv_heads = 2, .fused = true}), shape_of(256), {.tp = 2});
  CHECK(compile::verify(grouped.graph) == Lines{});
  REQUIRE(graph::attentions_of(grouped.graph).size() == 2);
  CHECK(graph::attentions_of(grouped.graph)[0].work.heads == 2);
  CHECK(graph::attentions_of(grouped.graph)[0].work.kv_heads == 1);
}

TEST_CASE("input gradients are reduced product by product where a framework does so") {
  const Options options{.tp = 2, .vocabulary_parallel = false, .reduce_each_product = true};
  const auto sharded = shard_tensor_parallel(small::attention_model({}), shape_of(256), options);
  CHECK(compile::verify(sharded.graph) == Lines{});
  // No embedding, head or cross entropy is divided: forward the output product, backward q, k and v.
  CHECK(small::collectives(sharded.graph, Phase::forward) == Lines{"all_reduce [16, 32] bfloat16"});
  CHECK(small::collectives(sharded.graph, Phase::backward) == Lines(3, "all_reduce [16, 32] bfloat16"));
  CHECK(small::parameters(sharded.graph).at("head.weight") == small::Dims{256, 32});
}

TEST_CASE("vocabulary is padded to a multiple of 128 tp, with a note") {
  const auto sharded = shard_tensor_parallel(small::mlp_model({.vocabulary = 300}), shape_of(300), {.tp = 2});
  CHECK(compile::verify(sharded.graph) == Lines{});
  CHECK(small::parameters(sharded.graph).at("embed.weight") == small::Dims{256, 8});  // 512 / 2
  REQUIRE(sharded.notes.size() == 1);
  CHECK(sharded.notes[0].rule == "vocabulary_padding");
  // 212 rows of 8 in two tables: 3392 parameters.
  CHECK(sharded.notes[0].message.find("300 padded to 512") != std::string::npos);
  CHECK(sharded.notes[0].message.find("3392 parameters") != std::string::npos);
}

TEST_CASE("a tied head shares the divided table") {
  const auto sharded = shard_tensor_parallel(small::mlp_model({.tied = true}), shape_of(256), {.tp = 2, .sequence_parallel = true});
  CHECK(compile::verify(sharded.graph) == Lines{});
  CHECK(small::parameters(sharded.graph).at("embed.weight") == small::Dims{128, 8});
}

TEST_CASE("products divide by tp exactly, parameters too where they are divided") {
  const auto graph = small::mlp_model({.vocabulary = 1024, .hidden = 32, .ffn = 64, .sequence = 16, .layers = 3});
  for (const int tp : {2, 4, 8}) {
    for (const bool tokens : {false, true}) {
      const auto sharded = shard_tensor_parallel(graph, shape_of(1024), {.tp = tp, .sequence_parallel = tokens});
      CHECK(compile::verify(sharded.graph) == Lines{});
      CHECK(product_flops(sharded.graph) * tp == product_flops(graph));
      const auto before = small::parameters(graph), after = small::parameters(sharded.graph);
      for (std::size_t i = 0; i < sharded.graph.nodes.size(); ++i) {
        const auto& node = sharded.graph.nodes[i];
        if (node.kind != graph::NodeKind::parameter) continue;
        const auto count = [](const small::Dims& dims) { return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()); };
        const std::int64_t whole = count(before.at(node.name)), own = count(after.at(node.name));
        CHECK(own == (sharded.tensor_sharded[i] ? whole / tp : whole));
        CHECK(sharded.tensor_sharded[i] == (node.name.find("norm") == std::string::npos));
      }
    }
  }
}

TEST_CASE("a product whose result is needed whole is kept whole, and said so") {
  // 6 heads of 8 do not divide over 4 ranks: attention and its products stay whole; embedding and head are divided.
  const auto graph = small::attention_model({.heads = 6, .kv_heads = 6});
  const auto sharded = shard_tensor_parallel(graph, shape_of(256), {.tp = 4});
  CHECK(compile::verify(sharded.graph) == Lines{});
  REQUIRE(sharded.diagnostics.entries().contains("lower.shard.kept_whole"));
  CHECK(sharded.diagnostics.entries().at("lower.shard.kept_whole").count >= 3);
  CHECK(small::parameters(sharded.graph).at("layers.0.attention.o.weight") == small::Dims{48, 48});
}

TEST_CASE("a sequence that tp does not divide is refused under sequence parallel") {
  CHECK_THROWS_AS(shard_tensor_parallel(small::mlp_model({.sequence = 6}), shape_of(256), {.tp = 4, .sequence_parallel = true}), InputError);
}

// Backward of the MLP (tape order: weight gradient or input gradient first, as autograd has it). With overlap, each sum
// comes right after its input gradient and before the weight gradient's product.
TEST_CASE("weight gradients can run beside the sums") {
  for (const bool tokens : {false, true}) {
    Options options{.tp = 2, .sequence_parallel = tokens, .overlap_weight_gradients = true};
    const auto sharded = shard_tensor_parallel(small::mlp_model({}), shape_of(256), options);
    CHECK(compile::verify(sharded.graph) == Lines{});
    Lines up;  // what the backward pass of `up` launches, in order
    for (const auto& node : sharded.graph.nodes) {
      if (node.phase != Phase::backward || !node.module.valid() || sharded.graph.modules[node.module.value] != "layers.0.up") continue;
      if (node.target.starts_with("aten.mm") || node.target.starts_with("_c10d")) {
        up.push_back(node.target.substr(node.target.find('.') + 1) + (node.target.starts_with("aten.mm") ? (node.outputs[0].shape[0] == 4 ? " input" : " weight") : ""));
      }
    }
    if (tokens) {
      CHECK(up == Lines{"all_gather_into_tensor.default", "mm.default input", "reduce_scatter_tensor.default", "mm.default weight"});
    } else {
      CHECK(up == Lines{"mm.default input", "all_reduce.default", "mm.default weight"});
    }
  }
}

TEST_CASE("the same collectives and products with and without overlap") {
  const auto graph = small::gpt_model({.layers = 2});
  const auto plain = shard_tensor_parallel(graph, shape_of(256), {.tp = 4, .sequence_parallel = true});
  const auto overlapped = shard_tensor_parallel(graph, shape_of(256), {.tp = 4, .sequence_parallel = true, .overlap_weight_gradients = true});
  CHECK(compile::verify(overlapped.graph) == Lines{});
  auto a = small::collectives(plain.graph, Phase::backward), b = small::collectives(overlapped.graph, Phase::backward);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  CHECK(a == b);
  CHECK(product_flops(plain.graph) == product_flops(overlapped.graph));
}
