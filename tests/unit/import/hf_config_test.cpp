#include <nlohmann/json.hpp>

#include "sim/import/hf_config/hf_config.h"

#include "sim/core/error.h"
#include "sim/graph/graph_file.h"
#include "tests/support/catch.h"
#include "tests/unit/import/captured.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;
using namespace sgsim::import::test;

namespace {

std::string problem_of(const std::string& json) {
  try {
    (void)parse_hf_config(json, "config.json");
  } catch (const InputError& error) {
    return error.problem().where + ": " + error.problem().expected;
  }
  return "accepted";
}

/// A small config that is whole, with the keys of `changes` (a JSON object) changed or added.
std::string whole(const char* family, const char* changes) {
  nlohmann::json config = {{"model_type", family}, {"vocab_size", 32000}, {"hidden_size", 4096}, {"intermediate_size", 11008}, {"num_hidden_layers", 32}, {"num_attention_heads", 32}};
  config.update(nlohmann::json::parse(changes));
  return config.dump();
}

std::int64_t parameter_count(const graph::OperatorGraph& graph) {
  std::int64_t count = 0;
  for (const auto& [name, type] : parameters_of(graph)) count += type.elements();
  return count;
}

}  // namespace

// Llamas and Mixtrals come in many sizes: nothing is a default. Without one key of the five the file is refused, by name.
TEST_CASE("the sizes of a llama and a mixtral must be stated") {
  const std::pair<const char*, const char*> keys[] = {
      {"vocab_size", "1000"}, {"hidden_size", "64"}, {"intermediate_size", "128"}, {"num_hidden_layers", "2"}, {"num_attention_heads", "4"}};
  for (const char* family : {"llama", "mixtral"}) {
    for (const auto& [missing, unused] : keys) {
      std::string text = std::string(R"({"model_type": ")") + family + "\"";
      for (const auto& [key, value] : keys) {
        if (std::string(key) != missing) text += std::string(", \"") + key + "\": " + value;
      }
      CHECK_THAT(problem_of(text + "}"), Catch::StartsWith(std::string("$.") + missing + ": a whole number"));
    }
  }
}

TEST_CASE("Absent keys take Hugging Face's documented defaults, and sizes among them are listed") {
  const HfModel llama = parse_hf_config(R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32})", "x");
  CHECK(llama.shape == plan::ModelShape{.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .ffn = 11008, .vocab = 32000, .sequence = 2048});
  CHECK(llama.left_out == std::vector<std::string>{"num_key_value_heads 32"});
  const HfModel gpt2 = parse_hf_config(R"({"model_type": "gpt2", "n_embd": 1024, "n_head": 16})", "x");
  CHECK(gpt2.shape == plan::ModelShape{.layers = 12, .hidden = 1024, .heads = 16, .kv_heads = 16, .ffn = 4096, .vocab = 50257, .sequence = 1024});
  CHECK(gpt2.left_out == std::vector<std::string>{"vocab_size 50257", "n_layer 12", "n_positions 1024"});
  const HfModel mixtral = parse_hf_config(R"({"model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32})", "x");
  CHECK(mixtral.shape == plan::ModelShape{.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .ffn = 14336, .vocab = 32000, .sequence = 131072, .experts = 8});
  const HfModel bert = parse_hf_config(R"({"model_type": "bert", "hidden_act": null})", "x");
  CHECK(bert.shape == plan::ModelShape{.layers = 12, .hidden = 768, .heads = 12, .kv_heads = 12, .ffn = 3072, .vocab = 30522, .sequence = 512});
}

TEST_CASE("Bad configs name the key") {
  CHECK(problem_of(R"({"model_type": "t5"})") == "$.model_type: one of llama, gpt2, bert, mixtral");
  CHECK(problem_of(R"({})").starts_with("$: "));
  CHECK(problem_of(R"({"model_type": 3})").starts_with("$.model_type: "));
  CHECK(problem_of(whole("llama", R"({"hidden_size": "4096"})")).starts_with("$.hidden_size: "));
  CHECK(problem_of(whole("llama", R"({"hidden_size": 0})")).starts_with("$.hidden_size: "));
  CHECK(problem_of(whole("llama", R"({"hidden_size": 1e3})")).starts_with("$.hidden_size: "));
  CHECK(problem_of(whole("llama", R"({"hidden_act": "swish2"})")).starts_with("$.hidden_act: "));
  CHECK(problem_of(whole("llama", R"({"num_attention_heads": 30})")) == "$: heads that divide the hidden size");
  CHECK(problem_of(whole("llama", R"({"num_key_value_heads": 5})")) == "$: key-value heads that divide the heads");
  CHECK(problem_of(whole("mixtral", R"({"sliding_window": 4096})")).starts_with("$.sliding_window: "));
  CHECK(problem_of(R"({"model_type": "llama", "quantization_config": {"bits": 4}})").starts_with("$.quantization_config: "));
  CHECK(problem_of(R"({"model_type": "bert", "position_embedding_type": "relative_key"})").starts_with("$.position_embedding_type: "));
  CHECK(problem_of("{\"model_type\": ").starts_with("line 1: "));
}

TEST_CASE("A sequence beyond learned positions is refused, beyond rotary ones not") {
  CHECK_THROWS_AS(generate_graph(shipped("gpt2"), {.sequence = 2048}), InputError);
  CHECK_NOTHROW(generate_graph(shipped("llama3-8b", "num_hidden_layers", 1), {.sequence = 16384}));
  CHECK_THROWS_AS(generate_graph(shipped("gpt2"), {.sequence = 0}), InputError);
  CHECK_THROWS_AS(generate_graph(shipped("gpt2"), {.micro_batch = 0, .sequence = 8}), InputError);
}

TEST_CASE("Shipped models have their published number of parameters") {
  const auto count = [](const std::string& name) { return parameter_count(generate_graph(shipped(name), {.sequence = 8})); };
  CHECK(count("llama3-8b") == 8030261248);      // model card: 8.03 B
  CHECK(count("llama3-70b") == 70553706496);    // 70.6 B
  CHECK(count("gpt2") == 124439808);            // Radford et al.: 124 M (tied head)
  CHECK(count("gpt2-350m") == 354871296);       // as counted on the measured run
  CHECK(count("llama-1b") == 1498482688);       // as counted on the measured run
  CHECK(count("bert-large") == 335174458);      // as counted on the measured run
  CHECK(count("mixtral-8x7b") == 46702792704);  // 46.7 B
  CHECK(count("gpt3-175b") == 174604259328);    // 175 B with 2,048 positions, head tied
}

TEST_CASE("Products of a step are 6 flops a matrix parameter and token") {
  // Llama: every matrix but the embedding is used once a token: forward 2, backward 4; rotary angles are small change.
  const graph::OperatorGraph graph = generate_graph(shipped("llama3-8b"), {.micro_batch = 2, .sequence = 64});
  const double matrices = 8030261248.0 - 128256.0 * 4096 - 65 * 4096;  // without embedding and norms
  CHECK(matmul_flops(graph) == Approx(6 * matrices * 2 * 64).epsilon(1e-6));
}

TEST_CASE("Unfused attention has the products of flash attention without its recomputation") {
  // Unfused: 2 products forward, 4 backward, full squares: 12 b s^2 h d a layer.
  const HfModel model = shipped("gpt2-124m");
  const graph::OperatorGraph unfused = generate_graph(model, {.micro_batch = 2, .sequence = 64, .flash_attention = false});
  const graph::OperatorGraph flash = generate_graph(model, {.micro_batch = 2, .sequence = 64});
  CHECK(graph::attentions_of(unfused).empty());
  CHECK(graph::attentions_of(flash).size() == 24);
  CHECK(matmul_flops(unfused) - matmul_flops(flash) == Approx(12 * (12.0 * 2 * 64 * 64 * 768)));
}

TEST_CASE("Generated graphs are sound in every family and option") {
  for (const auto& [name, layers] : {std::pair{"llama3-8b", "num_hidden_layers"}, {"gpt2", "n_layer"}, {"bert-large", "num_hidden_layers"}, {"mixtral-8x7b", "num_hidden_layers"}}) {
    for (const bool flash : {true, false}) {
      for (const bool mask : {true, false}) {
        for (const bool autocast : {true, false}) {
          INFO(name << " flash " << flash << " mask " << mask << " autocast " << autocast);
          const graph::OperatorGraph graph = generate_graph(
              shipped(name, layers, 2), {.micro_batch = 3, .sequence = 40, .flash_attention = flash, .causal_mask_tensor = mask, .autocast = autocast});
          CHECK(flaws_of(graph, true) == std::vector<std::string>{});
          CHECK(graph.gradients.size() == parameters_of(graph).size());
          CHECK(graph.micro_batch == 3);
          CHECK(graph.sequence == 40);
        }
      }
    }
  }
}

TEST_CASE("Without autocast the parameters have the compute type, with it they are float32") {
  const HfModel model = shipped("llama3-8b", "num_hidden_layers", 1);
  for (const auto& [name, type] : parameters_of(generate_graph(model, {.sequence = 8}))) CHECK(type.dtype == graph::DType::float32);
  for (const auto& [name, type] : parameters_of(generate_graph(model, {.sequence = 8, .autocast = false, .dtype = graph::DType::float16}))) {
    CHECK(type.dtype == graph::DType::float16);
  }
}

TEST_CASE("A mixture of experts runs tokens x k / experts rows through each expert") {
  const graph::OperatorGraph graph = generate_graph(shipped("mixtral-8x7b", "num_hidden_layers", 1), {.micro_batch = 2, .sequence = 50});
  int products = 0;
  for (const auto& [node, phase, work] : graph::matmuls_of(graph)) {
    if (work.batch != 8 || phase != graph::Phase::forward) continue;
    CHECK(work.m == 25);  // 100 tokens, 2 of 8 experts
    ++products;
  }
  CHECK(products == 3);
  // 10 tokens do not divide: 20 assignments over 8 experts are 3 rows each, rounded up.
  const graph::OperatorGraph uneven = generate_graph(shipped("mixtral-8x7b", "num_hidden_layers", 1), {.micro_batch = 1, .sequence = 10});
  for (const auto& [node, phase, work] : graph::matmuls_of(uneven)) {
    if (work.batch == 8 && phase == graph::Phase::forward) CHECK(work.m == 3);
  }
  CHECK(flaws_of(uneven, true) == std::vector<std::string>{});
}

TEST_CASE("Dropout of the config is in the graph, none leaves clones") {
  const auto with = targets_of(generate_graph(shipped("gpt2"), {.sequence = 8}));
  CHECK(with.at("aten.native_dropout.default") == 1 + 2 * 12);
  CHECK(with.at("aten.native_dropout_backward.default") == 1 + 2 * 12);
  const auto without = targets_of(generate_graph(shipped("gpt2-124m"), {.sequence = 8}));
  CHECK_FALSE(without.contains("aten.native_dropout.default"));
  CHECK(without.at("aten.clone.default") == 1 + 2 * 12);
}

TEST_CASE("Generation is deterministic") {
  const HfModel model = shipped("llama3-8b", "num_hidden_layers", 2);
  CHECK(generate_graph(model, {.sequence = 64}) == generate_graph(model, {.sequence = 64}));
}
