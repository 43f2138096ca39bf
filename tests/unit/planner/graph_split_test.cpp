// Splits of whole models: what a run of kernels holds, and how places are named.
#include <fmt/format.h>

#include "planner/search/graph_split.h"
#include "planner/search/plan_words.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

struct Sums {
  double memory = 0.0, parameters = 0.0;
};

Sums sums_of(const scenario::Scenario& s, const scenario::Inputs& inputs) {
  Sums sums;
  for (const split::WorkNode& node : search::work_graph_of(s, inputs, 300).nodes) {
    sums.memory += node.memory.value();
    sums.parameters += node.parameters.value();
  }
  return sums;
}

double elements(const graph::OperatorGraph& graph, bool trained_only) {
  double sum = 0.0;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != graph::NodeKind::parameter || (trained_only && !graph.gradients.contains(NodeId{i}))) continue;
    sum += static_cast<double>(graph.nodes[i].outputs.at(0).elements());
  }
  return sum;
}

scenario::Scenario llama(const std::string& more, const std::string& optimizer) {
  return scenario::scenario_from_text(fmt::format(R"({{"schema_version": 1, "model": {{"config": "models/llama3-8b.json", "sequence": 512, "layers": 4{}}},
    "plan": {{"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": 8}}, "training": {{"optimizer": "{}"}}, "cluster": {{"builtin": "dgx-h100", "nodes": 1}}}})", more, optimizer),
                                      "llama", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
}

}  // namespace

TEST_CASE("graph split: FSDP units gather parameters, not what is kept for the backward pass") {
  // ResNet-50: 25.56 million parameters of four bytes.
  const std::vector<scenario::Setting> eight = {{"cluster.node.gpus", "8"}};
  const scenario::Scenario s = scenario::read_scenario(SGSIM_SOURCE_DIR "/scenarios/resnet50-captured-1xh200.json", eight);
  scenario::InputCache cache;
  const scenario::Inputs inputs = cache.load(s);
  CHECK(sums_of(s, inputs).parameters == Approx(4.0 * 25.557e6).epsilon(1e-3));
  CHECK(sums_of(s, inputs).memory > 10.0 * sums_of(s, inputs).parameters);  // activations of a batch
  const search::ModelSplit split = search::split_model(s, inputs, 2, 0.7);
  REQUIRE((split.units && split.units->split));
  CHECK(split.units->split->most_gathered.value() <= 4.0 * 25.6e6);
}

TEST_CASE("graph split: parameters do not depend on the micro-batch") {
  scenario::InputCache cache;
  scenario::Scenario s = llama("", "adamw");
  const double one = sums_of(s, cache.load(s)).parameters;
  s.plan.micro_batch = 4;
  CHECK(sums_of(s, cache.load(s)).parameters == Approx(one));
  CHECK(one == Approx(4.0 * elements(*cache.load(s).graph, false)));
}

TEST_CASE("graph split: frozen parameters have no gradients and no optimizer state") {
  // AdamW's two moments are all that SGD lacks: eight bytes of each trained element.
  for (const std::string& lora : {std::string(), std::string(R"(, "lora": {"rank": 16, "targets": ["q_proj", "v_proj"]})")}) {
    scenario::InputCache cache;
    const scenario::Scenario adamw = llama(lora, "adamw"), sgd = llama(lora, "sgd");
    const scenario::Inputs inputs = cache.load(adamw);
    INFO(lora);
    CHECK(sums_of(adamw, inputs).memory - sums_of(sgd, inputs).memory == Approx(8.0 * elements(*inputs.graph, true)).epsilon(1e-6));
    if (!lora.empty()) CHECK(elements(*inputs.graph, true) < 0.01 * elements(*inputs.graph, false));
  }
}

TEST_CASE("graph split: a place between two runs of one module is named by what it comes after") {
  search::ModelSplit m{.stages = 2, .overlap_share = 0.7, .gpu_memory = Bytes(1e9), .graph = {}, .links = {}, .between_nodes = {}, .split = {}, .fits = true, .units = {}};
  for (const char* name : {"layers.0", "layers.0.attention", "layers.0", "layers.0.mlp"}) m.graph.nodes.push_back({.name = name, .time = Seconds(1.0), .memory = Bytes(1.0), .parameters = {}});
  m.split = split::Split{.stage_of = {0, 0, 1, 1}, .stage_time = {Seconds(2.0), Seconds(2.0)}, .stage_memory = {Bytes(2.0), Bytes(2.0)}, .cuts = {}, .bottleneck = Seconds(2.0), .exact = true};
  CHECK_THAT(search::split_text(m), Catch::Contains("layers.0 after layers.0.attention"));
  m.split->stage_of = {0, 1, 1, 1};
  CHECK_THAT(search::split_text(m), !Catch::Contains(" after "));
}

TEST_CASE("plan: the printed command repeats what the user asked for") {
  search::Candidate c;
  c.nodes = 2;
  const std::vector<scenario::Setting> asked = {{"model.lora", R"({"rank":16})"}, {"plan.micro_batch", "7"}, {"engine.name", "simgrid"}};
  const std::string text = search::flags_text(c, asked);
  CHECK_THAT(text, Catch::StartsWith(R"(--set model.lora='{"rank":16}' --set cluster.nodes=2 )"));
  CHECK_THAT(text, !Catch::Contains("plan.micro_batch=7") && !Catch::Contains("engine"));
}
