#include <fmt/format.h>

#include "sim/compile/passes.h"
#include "sim/graph/node_work.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/segments.h"
#include "sim/lower/shard/context.h"
#include "sim/lower/shard/experts.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using graph::Phase;

namespace {

// Hidden 64, feed-forward 128, 4 experts of which a token takes 2, samples of 64 tokens: 128 assignments each, 32 rows an expert and sample.
graph::OperatorGraph mixture(const std::string& implementation, std::int64_t micro_batch, int experts = 4) {
  const auto model = import::parse_hf_config(fmt::format(R"({{"model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 64, "num_local_experts": {}, "num_experts_per_tok": 2, "num_hidden_layers": 2, "experts_implementation": "{}"}})", experts, implementation), "test");
  return import::generate_graph(model, {.micro_batch = micro_batch, .sequence = 64, .autocast = false});
}

double product_flops(const graph::OperatorGraph& graph) {
  double sum = 0.0;
  for (const auto& product : graph::matmuls_of(graph)) sum += graph::flops_of(product.work).value();
  return sum;
}

}  // namespace

// Each rank routes its own tokens: nothing of the layer of experts is sent, every product has 1 / cp of the rows, and all ranks do what one did.
// Rotary angles (position times frequency, 64 x 4 multiply-adds) are computed whole on each.
TEST_CASE("experts under context parallelism: each rank routes its own tokens") {
  for (const char* implementation : {"eager", "grouped_mm"}) {
    for (const std::int64_t micro_batch : {1, 2}) {
      const auto whole = mixture(implementation, micro_batch);
      for (const int cp : {2, 4}) {
        CAPTURE(implementation, micro_batch, cp);
        const auto sharded = lower::shard::shard_context(whole, {.cp = cp});
        CHECK(compile::verify(sharded.graph) == std::vector<std::string>{});
        CHECK(sharded.diagnostics.entries().empty());
        for (const Phase phase : {Phase::forward, Phase::backward}) {
          for (const std::string& sent : small::collectives(sharded.graph, phase)) CHECK(sent.rfind("permute_tensor", 0) == 0);
        }
        CHECK(cp * product_flops(sharded.graph) == Approx(product_flops(whole)).epsilon(0.001));
        const auto both = lower::shard::shard_experts(sharded.graph, 4, 2);
        CHECK(compile::verify(both.graph) == std::vector<std::string>{});
        CHECK(product_flops(both.graph) == Approx(product_flops(sharded.graph)));
        // 4 experts x 32 rows a sample / cp go out and come back in each layer, as without context parallelism.
        int exchanges = 0;
        for (const std::string& sent : small::collectives(both.graph, Phase::forward)) exchanges += sent == fmt::format("all_to_all_single [4, {}, 64] bfloat16", 32 * micro_batch / cp) ? 1 : 0;
        CHECK(exchanges == 2 * 2);
      }
    }
  }
}

TEST_CASE("experts under context parallelism: what does not divide is refused by name") {
  plan::Plan plan;
  plan.cp = 2;
  CHECK(lower::graph_violations(mixture("eager", 1), plan).empty());
  const auto refused = lower::graph_violations(mixture("eager", 1, 6), plan);  // 128 assignments of a sample over 6 experts
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].rule == "cp_with_experts");
}
