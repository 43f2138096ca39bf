#include <algorithm>

#include "sim/graph/node_work.h"
#include "sim/import/hf_config/hf_config.h"
#include "tests/support/catch.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;

namespace {

graph::OperatorGraph mixture(const char* implementation, const GenerateOptions& options) {
  const std::string config = std::string(R"({"model_type": "mixtral", "vocab_size": 256, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": ")") + implementation + "\"}";
  return generate_graph(parse_hf_config(config, "config.json"), options);
}

std::ptrdiff_t count(const graph::OperatorGraph& graph, std::string_view target) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) { return node.target == target; });
}

std::ptrdiff_t host_reads(const graph::OperatorGraph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const graph::Node& node) { return node.kwargs.contains("device"); });
}

}  // namespace

TEST_CASE("grouped experts: gate and up in one product, the same parameters and operations in all") {
  const GenerateOptions options{.micro_batch = 2, .sequence = 32};
  const auto grouped = mixture("grouped_mm", options), single = mixture("eager", options);
  CHECK(test::flaws_of(grouped, true) == std::vector<std::string>{});
  CHECK(test::matmul_flops(grouped) == test::matmul_flops(single));
  CHECK(count(grouped, "aten.bmm.default") == 7);   // two products, two gradients of each; one of the rotary embedding
  CHECK(count(single, "aten.bmm.default") == 10);
  // Rows are masked before the first product (in place) and after both; the gradients of all three out of place.
  CHECK(count(grouped, "aten.masked_fill_.Scalar") == 1);
  CHECK(count(grouped, "aten.masked_fill.Scalar") == 5);
}

TEST_CASE("grouped experts: tokens that do not divide over the experts leave rows over") {
  const auto graph = mixture("grouped_mm", {.micro_batch = 1, .sequence = 33});  // 66 assignments: 17 rows for each of 4 experts, 2 more
  CHECK(test::flaws_of(graph, true) == std::vector<std::string>{});
}

TEST_CASE("grouped experts in float32 read their offsets once a product, run eagerly; other types and compiled graphs do not") {
  CHECK(host_reads(mixture("grouped_mm", {.micro_batch = 2, .sequence = 32, .eager = true})) == 6);
  CHECK(host_reads(mixture("grouped_mm", {.micro_batch = 2, .sequence = 32, .eager = true, .autocast = false})) == 0);  // bfloat16 throughout
  CHECK(host_reads(mixture("grouped_mm", {.micro_batch = 2, .sequence = 32})) == 0);
  CHECK(host_reads(mixture("eager", {.micro_batch = 2, .sequence = 32, .eager = true})) == 0);
}

TEST_CASE("repeated heads: the kernel reads as many key and value heads as query heads, from copies") {
  const GenerateOptions shared{.micro_batch = 1, .sequence = 32}, repeated{.micro_batch = 1, .sequence = 32, .repeated_heads = true};
  const auto few = mixture("eager", shared), all = mixture("eager", repeated);
  for (const auto& attention : graph::attentions_of(few)) CHECK(attention.work.kv_heads == 2);
  for (const auto& attention : graph::attentions_of(all)) CHECK(attention.work.kv_heads == 4);
  const auto copies = [](const graph::OperatorGraph& graph) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const graph::Node& node) { return node.target == "aten.clone.default" && node.phase == graph::Phase::forward; });
  };
  CHECK(copies(all) == copies(few) + 2);
  CHECK(test::flaws_of(all, true) == std::vector<std::string>{});
}
