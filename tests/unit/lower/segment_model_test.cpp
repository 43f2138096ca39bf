#include <algorithm>

#include "sim/graph/work.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/segments.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/shard_models.h"

using namespace sgsim;
using lower::SegmentedModel;
using lower::SegmentRole;
using lower::segment_model;

namespace {

lower::Training eager() {
  lower::Training training;
  training.autocast = false;
  training.execution = compile::Execution::eager;
  return training;
}

plan::ModelShape shape() {
  plan::ModelShape model;
  model.vocab = 256;
  return model;
}

plan::Plan plan_of(int tp = 1, bool tokens = false, plan::Recompute recompute = plan::Recompute::none) {
  plan::Plan plan;
  plan.tp = tp;
  plan.sequence_parallel = tokens;
  plan.recompute = recompute;
  return plan;
}

const lower::ModelSegment& layer_of(const SegmentedModel& model) { return model.segments.at(model.order.at(model.order.size() / 2)); }

int products(const std::vector<compile::Kernel>& kernels) {
  return static_cast<int>(std::count_if(kernels.begin(), kernels.end(), [](const compile::Kernel& k) {
    return !k.is_communication && std::holds_alternative<graph::Matmul>(k.work);
  }));
}

int communications(const std::vector<compile::Kernel>& kernels) {
  return static_cast<int>(std::count_if(kernels.begin(), kernels.end(), [](const compile::Kernel& k) { return k.is_communication; }));
}

double product_flops(const SegmentedModel& model) {
  double sum = 0.0;
  for (const std::uint32_t at : model.order) {
    for (const auto* list : {&model.segments[at].forward, &model.segments[at].backward}) {
      for (const auto& kernel : *list) {
        if (!kernel.is_communication && !std::holds_alternative<graph::MemoryBound>(kernel.work)) sum += graph::flops_of(kernel.work).value();
      }
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("equal layers share a segment") {
  const auto model = segment_model(small::mlp_model({.layers = 5}), shape(), plan_of(), eager());
  CHECK(model.order == std::vector<std::uint32_t>{0, 1, 1, 1, 1, 1, 2});
  REQUIRE(model.segments.size() == 3);
  CHECK(model.segments[0].role == SegmentRole::before);
  CHECK(model.segments[1].role == SegmentRole::layer);
  CHECK(model.segments[2].role == SegmentRole::after);
  CHECK(model.segments[1].name == "layer");
  // norm, up, gelu, down, add forward; two products each backward.
  CHECK(model.segments[1].forward.size() == 5);
  CHECK(products(model.segments[1].forward) == 2);
  CHECK(products(model.segments[1].backward) == 4);
  CHECK(model.segments[1].recompute.empty());
  // Head: one product forward, two backward.
  CHECK(products(model.segments[2].forward) == 1);
  CHECK(products(model.segments[2].backward) == 2);
}

// tokens 4, hidden 8, ffn 16, bfloat16. The residual stream is handed on: 4 x 8 x 2 = 64 bytes.
// Kept by a layer: its input (for the norm) 64, the norm's mean and 1/deviation 2 x 4 x 4 = 32, the input of up 64, of
// gelu 128, of down 128: 416.
TEST_CASE("boundary and saved bytes of an MLP layer") {
  const auto model = segment_model(small::mlp_model({.layers = 3}), shape(), plan_of(), eager());
  CHECK(layer_of(model).boundary == Bytes(64.0));
  CHECK(layer_of(model).saved == Bytes(416.0));
  CHECK(model.segments[0].boundary == Bytes(64.0));
  CHECK(model.segments[0].saved == Bytes(0.0));  // the first layer keeps the embedding's result
  CHECK(model.segments[2].boundary == Bytes(0.0));
  // Forward: at the sum, the layer holds what it keeps (416), the product's result (64) and the sum (64).
  CHECK(layer_of(model).forward_peak == Bytes(128.0));
}

TEST_CASE("parameters know where they are read and where their gradient is complete") {
  const auto model = segment_model(small::mlp_model({.layers = 2}), shape(), plan_of(), eager());
  const auto& layer = layer_of(model);
  REQUIRE(layer.parameters.size() == 4);
  for (const auto& parameter : layer.parameters) {
    INFO(parameter.name);
    const auto& reader = layer.forward.at(parameter.used_at);
    const auto& maker = layer.backward.at(parameter.ready_at);
    if (parameter.name.find("norm") != std::string::npos) {
      CHECK(parameter.used_at == 0);
      CHECK(parameter.elements == 8);
      CHECK(parameter.ready_at + 2 >= layer.backward.size());  // last: the norm's backward, then the residual sum
    } else {
      CHECK(parameter.elements == 128);
      CHECK(std::holds_alternative<graph::Matmul>(reader.work));
      REQUIRE(std::holds_alternative<graph::Matmul>(maker.work));
      // The weight gradient's product runs over the 4 tokens.
      CHECK(std::get<graph::Matmul>(maker.work).k == 4);
    }
    CHECK_FALSE(parameter.tensor_sharded);
  }
}

TEST_CASE("a tied head's table belongs to the embedding and is shared by the head") {
  const auto model = segment_model(small::mlp_model({.tied = true}), shape(), plan_of(), eager());
  REQUIRE(model.segments[0].parameters.size() == 1);
  CHECK(model.segments[0].parameters[0].name == "embed.weight");
  CHECK(model.segments[2].parameters.empty());
  REQUIRE(model.segments[2].shared_parameters.size() == 1);
  CHECK(model.segments[2].shared_parameters[0].name == "embed.weight");
}

// Korthikanti et al. 2022, equations 1 to 4, for a graph without dropout: of their 34 sbh + 5 a s^2 b, the masks of the
// two residual dropouts (2 sbh) and mask and output of the softmax dropout (3 a s^2 b) are not there: 32 sbh + 2 a s^2 b.
// Tensor parallel t leaves whole: both norm inputs (4), the inputs of q k v and of up (4): sbh (8 + 24 / t) +
// 2 a s^2 b / t; sequence parallel divides all by t. Selective recomputation drops the scores' 2 a s^2 b; full keeps the
// layer's input, 2 sbh. Norms keep mean and 1/deviation in float32: 2 norms x 8 bytes x sb (they count none).
TEST_CASE("saved activations follow the published formula") {
  const small::Gpt gpt{.heads = 4, .size = 8, .batch = 2, .sequence = 16, .layers = 4};
  const auto graph = small::gpt_model(gpt);
  const double s = 16, b = 2, h = 32, a = 4, sbh = s * b * h, scores = 2 * a * s * s * b, statistics = 16 * s * b;
  const auto saved = [&](int tp, bool tokens, plan::Recompute recompute) {
    return layer_of(segment_model(graph, shape(), plan_of(tp, tokens, recompute), eager())).saved.value();
  };
  using enum plan::Recompute;
  CHECK(saved(1, false, none) == 32 * sbh + scores + statistics);
  for (const int t : {2, 4}) {
    CHECK(saved(t, false, none) == (8 + 24.0 / t) * sbh + scores / t + statistics);
    CHECK(saved(t, true, none) == (32 * sbh + scores + statistics) / t);
    CHECK(saved(t, true, selective) == (32 * sbh + statistics) / t);
    CHECK(saved(t, false, full) == 2 * sbh);
    CHECK(saved(t, true, full) == 2 * sbh / t);
  }
  CHECK(saved(1, false, selective) == 32 * sbh + statistics);
  CHECK(saved(1, false, full) == 2 * sbh);
}

TEST_CASE("recomputation repeats the forward kernels, collectives too") {
  const auto graph = small::gpt_model({.layers = 3});
  for (const int tp : {1, 4}) {
    const auto none = layer_of(segment_model(graph, shape(), plan_of(tp, tp > 1), eager()));
    const auto full = layer_of(segment_model(graph, shape(), plan_of(tp, tp > 1, plan::Recompute::full), eager()));
    CHECK(full.forward.size() == none.forward.size());
    CHECK(full.recompute.size() == none.forward.size());
    CHECK(full.backward.size() == none.backward.size());
    CHECK(products(full.recompute) == products(none.forward));
    CHECK(communications(full.recompute) == communications(none.forward));
    CHECK(communications(none.forward) == (tp > 1 ? 4 : 0));  // two gathers, two scatters
    const auto selective = layer_of(segment_model(graph, shape(), plan_of(tp, tp > 1, plan::Recompute::selective), eager()));
    CHECK(selective.recompute.size() == 4);  // scores, scale, softmax, over values
    CHECK(products(selective.recompute) == 2);
    CHECK(selective.backward.size() == none.backward.size());
  }
}

TEST_CASE("a compiler leaves out of the recomputation what nothing reads") {
  lower::Training training = eager();
  training.execution = compile::Execution::compiled;
  const auto graph = small::gpt_model({.layers = 3});
  const auto full = layer_of(segment_model(graph, shape(), plan_of(4, false, plan::Recompute::full), training));
  // The down product and its sum over ranks are not run again: their result is the next layer's input, which is kept.
  CHECK(products(full.forward) == 6);
  CHECK(products(full.recompute) == 5);
  CHECK(communications(full.forward) == 2);
  CHECK(communications(full.recompute) == 1);
}

TEST_CASE("selective recomputation of fused attention does nothing and says so") {
  const auto model = segment_model(small::gpt_model({.layers = 2, .fused = true}), shape(), plan_of(1, false, plan::Recompute::selective), eager());
  CHECK(layer_of(model).recompute.empty());
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].rule == "selective_recompute_idle");
}

TEST_CASE("flops: of the model before division, conserved by tensor parallelism") {
  // 3 layers of up and down, 2 x 4 x 8 x 16 each, and the head, 2 x 4 x 8 x 256; backward twice that.
  const auto graph = small::mlp_model({.layers = 3});
  const auto one = segment_model(graph, shape(), plan_of(), eager());
  CHECK(one.model_flops.value() == 3.0 * (3 * 2 * 1024 + 16384));
  CHECK(product_flops(one) == one.model_flops.value());
  for (const bool tokens : {false, true}) {
    const auto two = segment_model(graph, shape(), plan_of(2, tokens), eager());
    CHECK(two.model_flops == one.model_flops);
    CHECK(product_flops(two) * 2 == product_flops(one));
  }
}

// Causal fused attention: 2 products of 2 b heads s s size, halved, forward; 4 such products backward, what the flash
// kernel computes again left out: 6 x (2 x 2 x 4 x 16 x 16 x 8) / 2 = 98304. Work's own count of the lower triangle may
// include the diagonal; the test takes it from graph::flops_of.
TEST_CASE("fused attention counts two products forward and four backward") {
  const auto graph = small::attention_model({.batch = 2});
  const auto model = segment_model(graph, shape(), plan_of(), eager());
  graph::Attention attention{.batch = 2, .heads = 4, .kv_heads = 4, .q_len = 16, .kv_len = 16, .head_dim = 8, .causal = true};
  const double forward = graph::flops_of(attention).value();
  const double products_only = 3.0 * (4 * 2 * 32 * 32 * 32 + 2 * 32 * 32 * 256);  // q k v o, head; 32 tokens
  CHECK(model.model_flops.value() == products_only + 3.0 * forward);
}

// GPT-2, compiled under autocast, of b s h elements a value: both norms' results for the products, attention's result and its q, k, v (2, 2, 2 and 6
// bytes an element), the feed-forward's two wide values (8 and 8), and both normalised inputs in float32 (4 and 4): 36. Weights keep their bfloat16
// copies: 2 bytes of 12 h^2. Statistics and biases are small.
TEST_CASE("a compiled GPT-2 layer keeps its normalised inputs for the backward pass") {
  const auto config = import::read_hf_config(std::string(SGSIM_SOURCE_DIR) + "/scenarios/models/gpt2-350m.json");
  const auto graph = import::generate_graph(config, {.micro_batch = 16, .sequence = 1024});
  lower::Training training = eager();
  training.autocast = true;
  training.execution = compile::Execution::compiled;
  const SegmentedModel model = segment_model(graph, config.shape, plan_of(), training);
  const double elements = 16.0 * 1024 * 1024;
  CHECK(layer_of(model).saved.value() == Approx(36.0 * elements + 24.0 * 1024 * 1024).epsilon(0.02));
}
