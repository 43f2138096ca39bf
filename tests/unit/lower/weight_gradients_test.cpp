#include "sim/lower/segments.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;

// A GPT layer has four products with weights (qkv, o, up, down): eight products in its backward pass, of which four make weight
// gradients; attention's gradient and the norms' stay with the input gradients. What they read: the inputs of the four
// products, 2 x 16 tokens of 32, 32, 32 and 128 in bfloat16, and the gradients of their results, 96, 32, 128 and 32 wide.
TEST_CASE("weight gradients of a layer are told from its input gradients") {
  const auto graph = small::gpt_model({.layers = 3, .fused = true});
  plan::Plan plan;
  lower::Training training;
  training.autocast = false;
  for (const auto execution : {compile::Execution::eager, compile::Execution::compiled}) {
    training.execution = execution;
    const auto model = lower::segment_model(graph, {}, plan, training);
    const auto& layer = model.segments.at(model.order.at(2));
    REQUIRE(layer.weight_only.size() == layer.backward.size());
    int inputs = 0, weights = 0;
    double weight_flops = 0.0;
    for (std::size_t k = 0; k < layer.backward.size(); ++k) {
      const auto* product = std::get_if<graph::Matmul>(&layer.backward[k].work);
      if (layer.backward[k].is_communication || product == nullptr) continue;
      (layer.weight_only[k] ? weights : inputs) += 1;
      if (layer.weight_only[k]) weight_flops += graph::flops_of(*product).value();
    }
    CHECK(inputs == 4);
    CHECK(weights == 4);
    CHECK(weight_flops == 2.0 * 32 * 12 * 32 * 32);
    if (execution == compile::Execution::eager) CHECK(layer.held.value() == Approx(32.0 * 2 * (32 + 32 + 32 + 128 + 96 + 32 + 128 + 32)).epsilon(0.02));
    CHECK(layer.held.value() > 0.0);
    CHECK(layer.held <= layer.saved + Bytes(32.0 * 2 * 288));
  }
}
