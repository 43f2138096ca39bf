// Adapters beside frozen layers.
#include <algorithm>

#include "sim/core/error.h"
#include "tests/support/catch.h"
#include "tests/unit/import/captured.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;
using namespace sgsim::import::test;

namespace {

graph::OperatorGraph llama(const Adapters& adapters, int layers = 2) {
  return generate_graph(shipped("llama3-8b", "num_hidden_layers", layers), {.micro_batch = 1, .sequence = 32, .adapters = adapters});
}

std::vector<std::string> trained_of(const graph::OperatorGraph& graph) {
  std::vector<std::string> names;
  for (const auto& [parameter, gradient] : graph.gradients) names.push_back(graph.node(parameter).name);
  return names;
}

std::size_t products(const graph::OperatorGraph& graph) { return graph::matmuls_of(graph).size(); }

}  // namespace

TEST_CASE("adapters alone have gradients; their weights are rank by width") {
  const graph::OperatorGraph graph = llama({.rank = 8, .targets = {"q_proj", "v_proj"}}, 1);
  std::vector<std::string> names = trained_of(graph);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"model.layers.0.self_attn.q_proj.lora_A.weight", "model.layers.0.self_attn.q_proj.lora_B.weight",
                                          "model.layers.0.self_attn.v_proj.lora_A.weight", "model.layers.0.self_attn.v_proj.lora_B.weight"});
  const auto parameters = parameters_of(graph);
  CHECK(parameters.at("model.layers.0.self_attn.v_proj.lora_A.weight").shape == graph::Dims{8, 4096});
  CHECK(parameters.at("model.layers.0.self_attn.v_proj.lora_B.weight").shape == graph::Dims{1024, 8});  // 8 key heads of 128
  CHECK(parameters.size() == parameters_of(llama({}, 1)).size() + 4);
}

// A layer has 7 products forward and 14 backward. Frozen: no gradient of a weight, so 7 backward, and for each adapter two products
// forward, a weight gradient and an input gradient of each.
TEST_CASE("frozen weights have no gradient products") {
  const Adapters adapters{.rank = 8, .targets = {"q_proj", "v_proj"}};
  const auto layer = [&](const Adapters& a) { return products(llama(a, 3)) - products(llama(a, 2)); };
  CHECK(layer({}) == 21);
  CHECK(layer(adapters) == 7 + 7 + 2 * (2 + 4));
  // Nothing below the first adapters has a gradient: in the first layer q, k and v have no input gradients, nor has A. The head has
  // one each way, rotary angles are one.
  CHECK(products(llama(adapters, 1)) == (1 + 1) + 1 + (7 + 4) + 2 * (2 + 3));
}

TEST_CASE("graphs with adapters are sound in every family") {
  for (const auto& [name, layers, target] : {std::tuple{"llama3-8b", "num_hidden_layers", "down_proj"}, {"gpt2", "n_layer", "c_attn"}, {"bert-large", "num_hidden_layers", "query"}, {"mixtral-8x7b", "num_hidden_layers", "o_proj"}}) {
    for (const char* targets : {target, "all-linear"}) {
      for (const bool autocast : {true, false}) {
        INFO(name << " " << targets << " autocast " << autocast);
        const graph::OperatorGraph graph = generate_graph(shipped(name, layers, 2), {.micro_batch = 3, .sequence = 40, .autocast = autocast, .adapters = {.rank = 4, .targets = {targets}, .dropout = 0.1}});
        std::vector<std::string> flaws = flaws_of(graph, true);
        std::erase_if(flaws, [](const std::string& flaw) { return flaw.ends_with(" has no gradient") && flaw.find("lora_") == std::string::npos; });
        CHECK(flaws == std::vector<std::string>{});
        for (const std::string& trained : trained_of(graph)) CHECK(trained.find(".lora_") != std::string::npos);
        CHECK(graph.gradients.size() > 0);
      }
    }
  }
}

TEST_CASE("a target that names no linear layer is refused with those there are") {
  try {
    (void)llama({.rank = 8, .targets = {"q_proj", "query"}});
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().where == "$.model.lora.targets");
    CHECK(error.problem().found == "\"query\"");
    CHECK(error.problem().expected.find("q_proj") != std::string::npos);
  }
}

TEST_CASE("a sparse head runs over 15 % of BERT's tokens") {
  const auto head_rows = [](bool sparse) {
    HfModel model = shipped("bert-large", "num_hidden_layers", 1);
    if (sparse) model.config_json.insert(model.config_json.rfind('}'), ", \"sparse_prediction\": true");
    const graph::OperatorGraph graph = generate_graph(model, {.micro_batch = 4, .sequence = 128});
    CHECK(flaws_of(graph, true) == std::vector<std::string>{});
    std::int64_t rows = 0;
    for (const auto& product : graph::matmuls_of(graph)) {
      if (product.work.n == 30522) rows = product.work.m;
    }
    return rows;
  };
  CHECK(head_rows(false) == 512);
  CHECK(head_rows(true) == 77);  // 76.8
}
