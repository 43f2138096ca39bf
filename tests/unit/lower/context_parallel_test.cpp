#include <algorithm>

#include "sim/compile/passes.h"
#include "sim/graph/node_work.h"
#include "sim/lower/program/launches.h"
#include "sim/lower/segments.h"
#include "sim/lower/shard/context.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using graph::Phase;

namespace {

// 2 samples of 16 tokens, 4 heads of 8: hidden 32. Keys and values of one rank of two: [2 x 2, 4, 8, 8] in one buffer.
graph::OperatorGraph gpt() { return small::gpt_model({.fused = true}); }

double flops(const graph::OperatorGraph& graph) {
  double sum = 0.0;
  for (const auto& product : graph::matmuls_of(graph)) sum += graph::flops_of(product.work).value();
  for (const auto& node : graph.nodes) {
    if (const auto attention = graph::attention_of(graph, node)) sum += graph::flops_of(*attention).value();
  }
  return sum;
}

/// Kernels of the first layer's forward pass on one of four ranks.
std::vector<compile::Kernel> layer_over_four(compile::Execution execution) {
  lower::Training training;
  training.autocast = false;
  training.execution = execution;
  plan::Plan plan;
  plan.cp = 4;
  const auto model = lower::segment_model(gpt(), {}, plan, training);
  return model.segments.at(model.order.at(1)).forward;
}

std::vector<std::string> sent(const graph::OperatorGraph& graph, Phase phase) { return small::collectives(graph, phase); }

}  // namespace

// Forward: the block goes to the next rank cp - 1 times. Backward: cp - 1 times again, and its gradient cp times (back home).
TEST_CASE("keys and values go round the ring") {
  for (const int cp : {2, 4, 8}) {
    CAPTURE(cp);
    const auto sharded = lower::shard::shard_context(gpt(), {.cp = cp});
    CHECK(compile::verify(sharded.graph) == std::vector<std::string>{});
    const std::string block = "permute_tensor [4, 4, " + std::to_string(16 / cp) + ", 8] bfloat16";
    CHECK(sent(sharded.graph, Phase::forward) == std::vector<std::string>(cp - 1, block));
    CHECK(sent(sharded.graph, Phase::backward) == std::vector<std::string>(2 * cp - 1, block));
    CHECK(sharded.graph.sequence == 16 / cp);
    CHECK(sharded.diagnostics.entries().empty());
  }
}

TEST_CASE("keys and values gathered at once: one gather a pass, gradients still round the ring") {
  const auto sharded = lower::shard::shard_context(gpt(), {.cp = 4, .all_gather = true});
  CHECK(compile::verify(sharded.graph) == std::vector<std::string>{});
  CHECK(sent(sharded.graph, Phase::forward) == std::vector<std::string>{"all_gather_into_tensor [16, 4, 4, 8] bfloat16"});
  std::vector<std::string> backward(5, "permute_tensor [4, 4, 4, 8] bfloat16");
  backward[0] = "all_gather_into_tensor [16, 4, 4, 8] bfloat16";
  CHECK(sent(sharded.graph, Phase::backward) == backward);
}

// cp ranks do together what one does: S (S + 1) / 2 pairs of a causal attention are cp causal blocks of S / cp and cp (cp - 1)
// blocks of (S / cp)^2 / 2 pairs.
TEST_CASE("flops of all ranks are those of the whole model, causal or not") {
  const auto whole = gpt();
  for (const int cp : {2, 4, 8}) {
    CHECK(cp * flops(lower::shard::shard_context(whole, {.cp = cp}).graph) == Approx(flops(whole)).epsilon(1e-12));
    CHECK(cp * flops(lower::shard::shard_context(whole, {.cp = cp, .all_gather = true}).graph) == Approx(flops(whole)).epsilon(1e-12));
  }
}

TEST_CASE("causal blocks: the own one causal, others all queries on half of the keys") {
  const auto sharded = lower::shard::shard_context(gpt(), {.cp = 4});
  std::vector<graph::Attention> blocks;
  for (const auto& node : sharded.graph.nodes) {
    if (const auto attention = graph::attention_of(sharded.graph, node)) blocks.push_back(*attention);
  }
  REQUIRE(blocks.size() == 8);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    CHECK(blocks[b].causal == (b % 4 == 0));
    CHECK(blocks[b].q_len == 4);
    CHECK(blocks[b].kv_len == (b % 4 == 0 ? 4 : 2));
  }
}

// Parameters stay whole. Everything a rank keeps is of its own tokens: the layer's activations are halved exactly.
TEST_CASE("activations are divided, parameters are not") {
  const auto whole = gpt();
  lower::Training training;
  training.autocast = false;
  training.execution = compile::Execution::eager;
  plan::Plan one, two;
  two.cp = 2;
  const auto a = lower::segment_model(whole, {}, one, training), b = lower::segment_model(whole, {}, two, training);
  const auto &layer_a = a.segments.at(a.order.at(1)), &layer_b = b.segments.at(b.order.at(1));
  CHECK(layer_b.saved.value() == Approx(layer_a.saved.value() / 2).epsilon(1e-3));
  CHECK(layer_b.boundary.value() == layer_a.boundary.value() / 2);
  REQUIRE(layer_a.parameters.size() == layer_b.parameters.size());
  for (std::size_t p = 0; p < layer_a.parameters.size(); ++p) CHECK(layer_a.parameters[p].elements == layer_b.parameters[p].elements);
}

// A send stands before the block that it runs beside, and the first kernel that reads it is the next block's.
TEST_CASE("blocks are computed while the next one is on its way") {
  for (const auto execution : {compile::Execution::eager, compile::Execution::compiled}) {
    const auto forward = layer_over_four(execution);
    int between = 0;
    for (std::uint32_t k = 0; k < forward.size(); ++k) {
      if (!forward[k].is_communication) continue;
      CHECK(forward[k].communication.op == graph::CollectiveOp::send_receive);
      CHECK(forward[k].communication.group == "cp");
      CHECK(forward[k].communication.bytes.value() == 4.0 * 4 * 4 * 8 * 2);
      std::uint32_t reader = k + 1;
      const auto reads = [&](std::uint32_t r) { return std::find(forward[r].inputs.begin(), forward[r].inputs.end(), KernelId{k}) != forward[r].inputs.end(); };
      while (reader < forward.size() && !reads(reader)) {
        if (std::holds_alternative<graph::Attention>(forward[reader].work) && !forward[reader].is_communication) ++between;
        ++reader;
      }
    }
    CHECK(between == 3);
  }
}

TEST_CASE("torch.compile waits for the ring's transfers where they were issued; an eager rank where they are read") {
  for (const auto execution : {compile::Execution::eager, compile::Execution::compiled}) {
    const auto forward = layer_over_four(execution);
    int transfers = 0, at_once = 0;
    for (std::uint32_t k = 0; k < forward.size(); ++k) {
      if (!forward[k].is_communication) continue;
      ++transfers;
      if (lower::waited_at(forward, k, true, execution) == k + 1) ++at_once;
    }
    CHECK(transfers == 3);
    CHECK(at_once == (execution == compile::Execution::compiled ? 3 : 0));
  }
}

TEST_CASE("tensor and context parallelism together") {
  const auto whole = gpt();
  plan::Plan plan;
  plan.cp = 2, plan.tp = 2;
  lower::Training training;
  training.autocast = false;
  training.execution = compile::Execution::eager;
  for (const bool sequence_parallel : {false, true}) {
    plan.sequence_parallel = sequence_parallel;
    const auto model = lower::segment_model(whole, {}, plan, training);
    const auto& layer = model.segments.at(model.order.at(1));
    int sends = 0;
    for (const auto* list : {&layer.forward, &layer.backward}) {
      for (const auto& kernel : *list) {
        if (!kernel.is_communication || kernel.communication.group != "cp") continue;
        ++sends;
        CHECK(kernel.communication.bytes.value() == 4.0 * 2 * 8 * 8 * 2);  // half of the heads
      }
    }
    CHECK(sends == 1 + 3);
  }
}

TEST_CASE("unfused attention is refused with its reason") {
  plan::Plan plan;
  plan.cp = 2;
  const auto violations = lower::graph_violations(small::gpt_model({}), plan);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].rule == "cp_needs_fused_attention");
  CHECK(lower::graph_violations(gpt(), plan).empty());
  plan.cp = 3;
  CHECK(lower::graph_violations(gpt(), plan).at(0).rule == "cp_divides_sequence");
}
