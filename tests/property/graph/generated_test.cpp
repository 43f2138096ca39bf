#include <rapidcheck.h>

#include "sim/graph/graph_file.h"
#include "tests/support/catch.h"
#include "tests/unit/import/captured.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;
using namespace sgsim::import::test;

namespace {

/// A small Llama with random heads, groups and widths.
HfModel random_llama(int layers) {
  const int groups = *rc::gen::inRange(1, 4), kv_heads = *rc::gen::inRange(1, 4), half = *rc::gen::inRange(1, 5), ffn = *rc::gen::inRange(1, 50);
  return parse_hf_config(fmt::format(R"({{"model_type": "llama", "num_hidden_layers": {}, "hidden_size": {}, "num_attention_heads": {},
    "num_key_value_heads": {}, "intermediate_size": {}, "vocab_size": {}}})", layers, groups * kv_heads * half * 2, groups * kv_heads, kv_heads, ffn, 97), "random");
}

GenerateOptions random_options() {
  GenerateOptions options;
  options.micro_batch = *rc::gen::inRange<std::int64_t>(1, 4);
  options.sequence = *rc::gen::inRange<std::int64_t>(1, 20);
  options.flash_attention = *rc::gen::arbitrary<bool>();
  options.causal_mask_tensor = *rc::gen::arbitrary<bool>();
  options.autocast = *rc::gen::arbitrary<bool>();
  return options;
}

double flops_of(const graph::OperatorGraph& graph) {
  double flops = 0.0;
  for (const auto& work : graph::matmuls_of(graph)) flops += graph::flops_of(work.work).value();
  for (const auto& work : graph::attentions_of(graph)) flops += graph::flops_of(work.work).value();
  return flops;
}

}  // namespace

TEST_CASE("Random models generate sound graphs that survive the graph file") {
  CHECK(rc::check([] {
    const graph::OperatorGraph graph = generate_graph(random_llama(*rc::gen::inRange(1, 4)), random_options());
    RC_ASSERT(flaws_of(graph, true).empty());
    RC_ASSERT(graph::parse_graph(graph::graph_to_json(graph), "again") == graph);
  }));
}

TEST_CASE("Work grows in proportion to layers and samples") {
  CHECK(rc::check([] {
    const GenerateOptions options = random_options();
    const std::string config = random_llama(1).config_json;
    const auto with_layers = [&](int layers) {
      std::string text = config;
      text.replace(text.find("\"num_hidden_layers\": 1"), 22, fmt::format("\"num_hidden_layers\": {}", layers));
      return parse_hf_config(text, "layers");
    };
    const double one = flops_of(generate_graph(with_layers(1), options)), two = flops_of(generate_graph(with_layers(2), options)),
                 four = flops_of(generate_graph(with_layers(4), options));
    RC_ASSERT(std::abs((four - two) - 2 * (two - one)) < 1e-9 * four);
    GenerateOptions doubled = options;
    doubled.micro_batch *= 2;
    const double rotary = 2.0 * static_cast<double>(options.sequence) * 4;  // at most: angles do not grow with samples
    const double more = flops_of(generate_graph(with_layers(1), doubled));
    RC_ASSERT(more <= 2 * one);
    RC_ASSERT(more >= 2 * one - rotary);
  }));
}

TEST_CASE("A stacked graph holds the work of a generated deeper one") {
  CHECK(rc::check([] {
    const GenerateOptions options = random_options();
    const HfModel model = random_llama(2);
    std::string text = model.config_json;
    const int layers = *rc::gen::inRange(2, 7);
    text.replace(text.find("\"num_hidden_layers\": 2"), 22, fmt::format("\"num_hidden_layers\": {}", layers));
    const auto stacked = stack_layers(generate_graph(model, options), layers);
    const auto deep = generate_graph(parse_hf_config(text, "deep"), options);
    RC_ASSERT(flaws_of(stacked, true).empty());
    RC_ASSERT(counted(graph::matmuls_of(stacked)) == counted(graph::matmuls_of(deep)));
    RC_ASSERT(targets_of(stacked) == targets_of(deep));
    RC_ASSERT(parameters_of(stacked) == parameters_of(deep));
  }));
}
