#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "sim/compile/passes.h"
#include "sim/graph/node_work.h"
#include "sim/import/aot/aot.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/shard/shard.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using graph::Phase;
using lower::shard::shard_tensor_parallel;

namespace {

const std::string kCaptured = std::string(SGSIM_SOURCE_DIR) + "/../shared/truth/h200/";

bool missing(const std::string& name) {
  if (std::filesystem::exists(kCaptured + name)) return false;
  std::printf("skipped: %s is not there\n", name.c_str());
  return true;
}

/// Multiset of products by phase and sizes; which operand is transposed does not matter.
std::map<std::tuple<Phase, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, int> products(const graph::OperatorGraph& graph) {
  std::map<std::tuple<Phase, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, int> counts;
  for (const auto& p : graph::matmuls_of(graph)) ++counts[{p.phase, p.work.batch, p.work.m, p.work.n, p.work.k}];
  return counts;
}

std::map<std::string, int> counted(const std::vector<std::string>& lines) {
  std::map<std::string, int> counts;
  for (const std::string& line : lines) ++counts[line];
  return counts;
}

plan::ModelShape shape_of(std::int64_t vocabulary) {
  plan::ModelShape model;
  model.vocab = vocabulary;
  return model;
}

}  // namespace

TEST_CASE("captured graphs divide and stay sound") {
  struct Case {
    const char* file;
    std::int64_t vocabulary;
    std::vector<int> tps;
  };
  for (const Case& c : {Case{"llama_70b_l1_compile.graph.json.gz", 128256, {2, 4, 8}}, Case{"llama_1b_compile.graph.json.gz", 128256, {2, 4, 8}},
                        Case{"gpt2_124m_mb1_compile.graph.json.gz", 50304, {2, 4}}, Case{"gpt2_350m_compile.graph.json.gz", 50304, {2, 4, 8}}}) {
    if (missing(c.file)) continue;
    const auto graph = import::read_aot_graph(kCaptured + c.file);
    for (const int tp : c.tps) {
      for (const bool tokens : {false, true}) {
        INFO(c.file << " tp " << tp << (tokens ? " with" : " without") << " sequence parallel");
        const auto sharded = shard_tensor_parallel(graph, shape_of(c.vocabulary), {.tp = tp, .sequence_parallel = tokens});
        CHECK(compile::verify(sharded.graph) == std::vector<std::string>{});
        CHECK(sharded.diagnostics.empty());
      }
    }
  }
}

// One layer of Llama-3-70B, tp 8, 4096 tokens, hidden 8192: forward sums after o_proj and down_proj, backward before the
// two norms; embedding rows; head input gradient; all in bfloat16 but the embedding, which autocast leaves in float32.
TEST_CASE("collectives of a captured Llama layer") {
  if (missing("llama_70b_l1_compile.graph.json.gz")) return;
  const auto graph = import::read_aot_graph(kCaptured + "llama_70b_l1_compile.graph.json.gz");
  const auto plain = shard_tensor_parallel(graph, shape_of(128256), {.tp = 8});
  CHECK(counted(small::collectives(plain.graph, Phase::forward)) ==
        std::map<std::string, int>{{"all_reduce [1, 4096, 8192] float32", 1}, {"all_reduce [4096, 8192] bfloat16", 2}, {"all_reduce [4096, 1] float32", 3}});
  CHECK(counted(small::collectives(plain.graph, Phase::backward)) ==
        std::map<std::string, int>{{"all_reduce [4096, 8192] bfloat16", 1}, {"all_reduce [1, 4096, 8192] bfloat16", 2}});
  const auto tokens = shard_tensor_parallel(graph, shape_of(128256), {.tp = 8, .sequence_parallel = true});
  CHECK(counted(small::collectives(tokens.graph, Phase::forward)) ==
        std::map<std::string, int>{{"reduce_scatter_tensor [512, 8192] float32", 1}, {"reduce_scatter_tensor [512, 8192] bfloat16", 2},
                                   {"all_gather_into_tensor [4096, 8192] bfloat16", 3}, {"all_reduce [4096, 1] float32", 3}});
  // Gathers: head and both norm outputs again for weight gradients, gradients of down and o, embedding (float32).
  CHECK(counted(small::collectives(tokens.graph, Phase::backward)) ==
        std::map<std::string, int>{{"all_gather_into_tensor [4096, 8192] bfloat16", 5}, {"all_gather_into_tensor [4096, 8192] float32", 1},
                                   {"reduce_scatter_tensor [512, 8192] bfloat16", 3}});
}

TEST_CASE("captured and generated llama_1b divide into the same products and collectives") {
  if (missing("llama_1b_compile.graph.json.gz")) return;
  const auto captured = import::read_aot_graph(kCaptured + "llama_1b_compile.graph.json.gz");
  const std::string config = std::string(SGSIM_SOURCE_DIR) + "/scenarios/models/llama-1b.json";
  if (!std::filesystem::exists(config)) {
    std::printf("skipped: no config of llama_1b\n");
    return;
  }
  const auto model = import::read_hf_config(config);
  const auto generated = import::generate_graph(model, {.micro_batch = captured.micro_batch, .sequence = captured.sequence, .causal_mask_tensor = true});
  for (const int tp : {2, 4, 8}) {
    for (const bool tokens : {false, true}) {
      INFO("tp " << tp << (tokens ? " with" : " without") << " sequence parallel");
      const auto a = shard_tensor_parallel(captured, model.shape, {.tp = tp, .sequence_parallel = tokens});
      const auto b = shard_tensor_parallel(generated, model.shape, {.tp = tp, .sequence_parallel = tokens});
      CHECK(products(a.graph) == products(b.graph));
      for (const Phase phase : {Phase::forward, Phase::backward}) {
        CHECK(counted(small::collectives(a.graph, phase)) == counted(small::collectives(b.graph, phase)));
      }
    }
  }
}

TEST_CASE("adapters under tensor parallelism: one input projection for all ranks, outputs as the layer's are") {
  const auto model = import::read_hf_config(std::string(SGSIM_SOURCE_DIR) + "/scenarios/models/llama-1b.json");
  const auto divided = [&](const import::Adapters& adapters) {
    return shard_tensor_parallel(import::generate_graph(model, {.micro_batch = 1, .sequence = 256, .adapters = adapters}), model.shape, {.tp = 4});
  };
  const auto plain = divided({});
  const auto query = divided({.rank = 8, .targets = {"q_proj"}});
  CHECK(compile::verify(query.graph).empty());
  const auto shapes = small::parameters(query.graph);
  CHECK(shapes.at("model.layers.0.self_attn.q_proj.lora_A.weight") == small::Dims{8, 2048});
  CHECK(shapes.at("model.layers.0.self_attn.q_proj.lora_B.weight") == small::Dims{512, 8});  // 2,048 over 4
  CHECK(counted(small::collectives(query.graph, Phase::forward)) == counted(small::collectives(plain.graph, Phase::forward)));
  // Beside a row-parallel layer, A is divided as the layer is, and its result, 8 wide, is summed.
  const auto output = divided({.rank = 8, .targets = {"o_proj"}});
  CHECK(compile::verify(output.graph).empty());
  CHECK(small::parameters(output.graph).at("model.layers.0.self_attn.o_proj.lora_A.weight") == small::Dims{8, 512});
  CHECK(counted(small::collectives(output.graph, Phase::forward))["all_reduce [256, 8] bfloat16"] == 16);
}
