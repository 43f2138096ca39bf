#include "sim/compile/passes.h"
#include "sim/graph/node_work.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/segments.h"
#include "sim/lower/shard/experts.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using graph::Phase;

namespace {

// hidden 64, feed-forward 128, 4 experts of which a token takes 2, 64 tokens: 128 assignments, 32 rows an expert.
import::HfModel mixture() {
  return import::parse_hf_config(R"({"model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 128,
    "vocab_size": 256, "max_position_embeddings": 64, "num_local_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 1})", "test");
}

graph::OperatorGraph one_layer() { return import::generate_graph(mixture(), {.micro_batch = 1, .sequence = 64, .autocast = false}); }

std::map<std::vector<std::int64_t>, int> expert_products(const graph::OperatorGraph& graph) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (const auto& product : graph::matmuls_of(graph)) {
    if (product.work.batch == 4 || product.work.batch == 2) ++counts[{product.work.batch, product.work.m, product.work.n, product.work.k}];
  }
  return counts;
}

}  // namespace

// Over 2 ranks each holds 2 experts and gets the rows of both ranks: 2 x 32 rows an expert. Rows of hidden size go out before the
// first products and come back after the last; the gradient of the result goes out and that of the rows comes back: 4 exchanges of
// the whole batch of rows, 4 experts x 32 rows x 64 (Lepikhin et al. 2021, GShard, section 3.3).
TEST_CASE("experts over two ranks: four all-to-alls of all rows") {
  const auto sharded = lower::shard::shard_experts(one_layer(), 4, 2);
  CHECK(compile::verify(sharded.graph) == std::vector<std::string>{});
  CHECK(small::collectives(sharded.graph, Phase::forward) == std::vector<std::string>(2, "all_to_all_single [4, 32, 64] bfloat16"));
  CHECK(small::collectives(sharded.graph, Phase::backward) == std::vector<std::string>(2, "all_to_all_single [4, 32, 64] bfloat16"));
  auto shapes = small::parameters(sharded.graph);
  CHECK(shapes.at("model.layers.0.block_sparse_moe.experts.w1") == small::Dims{2, 128, 64});
  CHECK(shapes.at("model.layers.0.block_sparse_moe.experts.w2") == small::Dims{2, 64, 128});
  CHECK(shapes.at("model.layers.0.block_sparse_moe.gate.weight") == small::Dims{4, 64});
}

// Products of one rank: half the experts, twice the rows each. Forward 3; backward 3 input and 3 weight gradients. As many flops.
TEST_CASE("products over experts keep their flops") {
  const auto flops = [](const graph::OperatorGraph& graph) {
    double sum = 0.0;
    for (const auto& product : graph::matmuls_of(graph)) sum += graph::flops_of(product.work).value();
    return sum;
  };
  const auto whole = one_layer();
  for (const int ep : {2, 4}) CHECK(flops(lower::shard::shard_experts(whole, 4, ep).graph) == flops(whole));
  int products = 0;
  for (const auto& [size, count] : expert_products(lower::shard::shard_experts(whole, 4, 2).graph)) {
    if (size[0] == 2 && (size[1] == 64 || size[3] == 64)) products += count;
  }
  CHECK(products == 9);
}

// With tensor parallelism the experts' width is divided too: [2, 64, 64]; rows still move whole.
TEST_CASE("experts divide over expert and tensor ranks") {
  const import::HfModel model = mixture();
  plan::Plan plan;
  plan.dp = 2, plan.ep = 2, plan.tp = 2, plan.global_batch = 2;
  lower::Training training;
  training.autocast = false;
  training.execution = compile::Execution::eager;
  const auto segmented = lower::segment_model(one_layer(), model.shape, plan, training);
  const auto& layer = segmented.segments.at(segmented.order.at(1));
  int exchanges = 0;
  for (const auto* list : {&layer.forward, &layer.backward}) {
    for (const auto& kernel : *list) {
      if (!kernel.is_communication || kernel.communication.group != "ep") continue;
      ++exchanges;
      CHECK(kernel.communication.bytes.value() == 4.0 * 32 * 64 * 2);
    }
  }
  CHECK(exchanges == 4);
  std::int64_t elements = 0;
  for (const auto& parameter : layer.parameters) elements += parameter.expert ? parameter.elements : 0;
  CHECK(elements == 3 * 2 * 64 * 64);
}
