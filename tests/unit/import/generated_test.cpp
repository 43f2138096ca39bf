#include "sim/core/error.h"
#include "tests/support/catch.h"
#include "tests/unit/import/captured.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;
using namespace sgsim::import::test;

namespace {

void check_equal_work(const graph::OperatorGraph& captured, const graph::OperatorGraph& generated) {
  CHECK(counted(graph::matmuls_of(captured)) == counted(graph::matmuls_of(generated)));
  CHECK(counted(graph::attentions_of(captured)) == counted(graph::attentions_of(generated)));
  CHECK(parameters_of(captured) == parameters_of(generated));
  CHECK(captured.micro_batch == generated.micro_batch);
  CHECK(captured.sequence == generated.sequence);
}

/// Operators that do not follow from the configuration: building the mask once, views and PyTorch's bookkeeping.
bool incidental(const std::string& target) {
  for (const char* name : {"detach", "alias", "arange", "bitwise_and", "cumsum", "eq", "ne", "index", "new_ones", "sub", "unsqueeze", "expand", "view", "zeros_like"}) {
    if (target.starts_with(fmt::format("aten.{}.", name))) return true;
  }
  return false;
}

/// Every other operator occurs as often, but for a few of the preamble.
void check_equal_operators(const graph::OperatorGraph& captured, const graph::OperatorGraph& generated) {
  const auto a = targets_of(captured), b = targets_of(generated);
  for (const auto& [target, count] : a) {
    if (incidental(target)) continue;
    INFO(target);
    const auto found = b.find(target);
    REQUIRE(found != b.end());
    CHECK(count - found->second >= 0);
    CHECK(count - found->second <= 4);  // the mask's slices and casts, GPT-2's zeros for an unused result
  }
  for (const auto& [target, count] : b) CHECK((a.contains(target) || incidental(target)));
}

}  // namespace

TEST_CASE("Generated and captured graphs hold the same work and parameters: llama_1b") {
  const auto measured = captured("llama_1b");
  const auto generated = generate_graph(shipped("llama-1b"), {.micro_batch = 2, .sequence = 4096, .causal_mask_tensor = true});
  check_equal_work(measured, generated);
  check_equal_operators(measured, generated);
}

TEST_CASE("Generated and captured graphs hold the same work and parameters: llama_70b_l1") {
  const auto measured = captured("llama_70b_l1");
  const auto generated = generate_graph(shipped("llama3-70b", "num_hidden_layers", 1), {.micro_batch = 1, .sequence = 4096, .causal_mask_tensor = true});
  check_equal_work(measured, generated);
  check_equal_operators(measured, generated);
}

TEST_CASE("Generated and captured graphs hold the same work and parameters: gpt2_350m") {
  const auto measured = captured("gpt2_350m");
  const auto generated = generate_graph(shipped("gpt2-350m"), {.micro_batch = 16, .sequence = 1024, .causal_mask_tensor = true});
  check_equal_work(measured, generated);
  check_equal_operators(measured, generated);
}

TEST_CASE("Generated and captured graphs hold the same work and parameters: gpt2_124m") {
  const auto measured = captured("gpt2_124m_mb1");
  const auto generated = generate_graph(shipped("gpt2-124m"), {.micro_batch = 1, .sequence = 1024, .causal_mask_tensor = true});
  check_equal_work(measured, generated);
  check_equal_operators(measured, generated);
}

TEST_CASE("One captured layer stacked to three is a generated model of three") {
  const auto stacked = stack_layers(captured("llama_70b_l1"), 3);
  const auto generated = generate_graph(shipped("llama3-70b", "num_hidden_layers", 3), {.micro_batch = 1, .sequence = 4096, .causal_mask_tensor = true});
  check_equal_work(stacked, generated);
  CHECK(flaws_of(stacked, true) == std::vector<std::string>{});
}

TEST_CASE("The last of several captured layers is repeated") {
  const auto stacked = stack_layers(captured("gpt2_124m_mb1"), 20);
  const auto generated = generate_graph(shipped("gpt2-124m", "n_layer", 20), {.micro_batch = 1, .sequence = 1024, .causal_mask_tensor = true});
  check_equal_work(stacked, generated);
  CHECK(flaws_of(stacked, true) == std::vector<std::string>{});
}

TEST_CASE("Stacking to the captured number changes nothing; a generated graph stacks too") {
  const auto one = captured("llama_70b_l1");
  CHECK(stack_layers(one, 1) == one);
  const HfModel small = shipped("llama3-8b", "num_hidden_layers", 2), large = shipped("llama3-8b", "num_hidden_layers", 5);
  const auto stacked = stack_layers(generate_graph(small, {.sequence = 64}), 5);
  check_equal_work(stacked, generate_graph(large, {.sequence = 64}));
  CHECK(targets_of(stacked) == targets_of(generate_graph(large, {.sequence = 64})));
}

TEST_CASE("What cannot be stacked is refused") {
  CHECK_THROWS_AS(stack_layers(captured("resnet50"), 60), InputError);   // four stacks, none a chain of equal layers
  CHECK_THROWS_AS(stack_layers(captured("llama_1b"), 3), InputError);    // fewer than captured
  CHECK_THROWS_AS(stack_layers(graph::OperatorGraph{}, 3), InputError);
}

TEST_CASE("Stacked copies chain forward and backward: each layer's gradient comes from the next") {
  // The backward product of layer 0's last projection reads, through the chain, the first product of layer 1's backward.
  const auto stacked = stack_layers(captured("llama_70b_l1"), 2);
  int first = -1, second = -1;
  for (std::uint32_t i = 0; i < stacked.nodes.size(); ++i) {
    const graph::Node& node = stacked.nodes[i];
    if (node.phase != graph::Phase::backward || !node.module.valid()) continue;
    const std::string& path = stacked.modules[node.module.value];
    if (first < 0 && path.starts_with("model.layers.0")) first = static_cast<int>(i);
    if (path.starts_with("model.layers.1")) second = static_cast<int>(i);
  }
  CHECK(second < first);  // all of layer 1's backward stands before any of layer 0's
}
