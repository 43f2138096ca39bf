#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

namespace {

using namespace sgsim;
using namespace sgsim::scenario;

constexpr std::string_view kSmall = R"({
  "schema_version": 1,
  "model": {"config": "m/config.json", "sequence": 1024},
  "plan": {"micro_batch": 2, "global_batch": 64, "tp": 2},
  "cluster": {"builtin": "dgx-a100-80gb", "nodes": 2},
  "profile": "p.json"
})";

Scenario read(std::string_view text, std::vector<Setting> settings = {}) {
  return scenario_from_text(text, "x.json", "/data", settings);
}

InputProblem problem_of(std::string_view text, std::vector<Setting> settings = {}) {
  try {
    (void)read(text, std::move(settings));
  } catch (const InputError& error) {
    return error.problem();
  }
  FAIL("no InputError");
  return {};
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a scenario fills in its defaults and says which") {
  const Scenario s = read(kSmall);
  CHECK(s.model.path == "/data/m/config.json");
  CHECK(s.profile == "/data/p.json");
  CHECK(s.plan.tp == 2);
  CHECK(s.plan.dp == 8);  // 16 GPUs / (tp 2 x pp 1 x cp 1)
  CHECK(s.plan.buckets.bucket == 25_MiB);
  CHECK(s.cluster.gpus() == 16);
  CHECK(s.cluster_base == "dgx-a100-80gb");
  const auto defaulted = [&](const char* path) { return std::count(s.defaults.begin(), s.defaults.end(), path); };
  CHECK(defaulted("$.plan.dp") == 1);
  CHECK(defaulted("$.plan.fsdp.prefetch") == 1);
  CHECK(defaulted("$.training.execution") == 1);
  CHECK(defaulted("$.plan.tp") == 0);
  CHECK(defaulted("$.profile") == 0);
}

TEST_CASE("an effective scenario reads back as the same scenario") {
  const std::vector<Setting> settings = {{"plan.buckets.bucket", "33333333 B"}, {"cluster.node.nic.bandwidth", "123.456 Gbit/s"},
                                         {"plan.stage_layers", "[3,4]"},        {"cluster.faults[0]", R"({"kind":"slow_gpu","node":1,"index":2,"factor":0.7})"}};
  const Scenario first = read(kSmall, settings);
  const std::string text = effective_text(first);
  const Scenario second = scenario_from_text(text, "y.json", "/elsewhere");
  CHECK(effective_text(second) == text);
  CHECK(second.plan == first.plan);
  CHECK(second.cluster == first.cluster);
  CHECK(second.model == first.model);
  CHECK(second.defaults == first.defaults);
  // What is set anew is no default any more.
  const Scenario third = scenario_from_text(text, "y.json", "/elsewhere", std::vector<Setting>{{"plan.pp", "2"}});
  CHECK(std::count(third.defaults.begin(), third.defaults.end(), "$.plan.pp") == 0);
  CHECK(std::count(second.defaults.begin(), second.defaults.end(), "$.plan.pp") == 1);
}

TEST_CASE("an unknown key is refused with the nearest known one") {
  const auto problem = problem_of(replaced("\"micro_batch\"", "\"micro_bach\""));
  CHECK(problem.file == "x.json");
  CHECK(problem.where == "$.plan.micro_batch");  // the required key is missed first, and the slip is named
  CHECK_THAT(problem.hint, Catch::Contains("micro_bach"));
  const auto extra = problem_of(replaced("\"tp\": 2", "\"tensor\": 2, \"sequenceparallel\": true"));
  CHECK(extra.where == "$.plan.sequenceparallel");
  CHECK_THAT(extra.hint, Catch::Contains("sequence_parallel"));
}

TEST_CASE("values of the wrong kind are refused with what was found and expected") {
  const auto unit = problem_of(kSmall, {{"plan.buckets.bucket", "25"}});
  CHECK(unit.file == "--set plan.buckets.bucket=25");
  CHECK(unit.where == "$.plan.buckets.bucket");
  CHECK(unit.found == "25");
  CHECK_THAT(unit.expected, Catch::Contains("25 MB"));
  CHECK_THAT(unit.hint, Catch::Contains("unit"));
  CHECK(problem_of(replaced("\"tp\": 2", "\"tp\": 2.5")).where == "$.plan.tp");
  CHECK(problem_of(replaced("\"tp\": 2", "\"tp\": 0")).expected == "a whole number from 1 to 1048576");
  CHECK(problem_of(replaced("\"tp\": 2", "\"tp\": \"2\"")).where == "$.plan.tp");
  CHECK(problem_of(replaced("\"tp\": 2", "\"tp\": 18446744073709551615")).where == "$.plan.tp");
  const auto word = problem_of(replaced("\"tp\": 2", "\"sharding\": \"fdsp\""));
  CHECK(word.hint == "Did you mean \"fsdp\"?");
  CHECK(problem_of(replaced("\"schema_version\": 1", "\"schema_version\": 2")).where == "$.schema_version");
  CHECK(problem_of("[1]").found == "a list of 1");
  CHECK_THAT(problem_of("{\n \"a\": }").where, Catch::Contains("line 2"));
  CHECK_THAT(problem_of(R"({"a":1,"a":2})").found, Catch::Contains("twice"));
  CHECK_THAT(problem_of(std::string(100000, '[')).found, Catch::Contains("nesting"));
  CHECK_THAT(problem_of(R"({"a":1e999})").found, Catch::Contains("JSON cannot hold"));
}

TEST_CASE("values that mean nothing are refused, with their path") {
  const auto factor = problem_of(kSmall, {{"cluster.faults", R"([{"kind": "failed_nic", "node": 0, "index": 1, "factor": 0.5}])"}});
  CHECK(factor.where == "$.cluster.faults[0].factor");
  CHECK_THAT(factor.expected, Catch::Contains("no factor"));
  const auto bucket = problem_of(kSmall, {{"plan.buckets.bucket", "0 B"}});
  CHECK(bucket.where == "$.plan.buckets.bucket");
  CHECK_THAT(bucket.expected, Catch::Contains("above 0"));
  const auto layers = problem_of(kSmall, {{"model.layers", "65536"}});
  CHECK(layers.where == "$.model.layers");
  CHECK(layers.expected == "a whole number from 1 to 10000");
  CHECK(problem_of(kSmall, {{"cluster.nodes", "131073"}}).expected == "a whole number from 1 to 131072");
  const auto gpus = problem_of(kSmall, {{"cluster.nodes", "131072"}, {"cluster.node.gpus", "16"}});
  CHECK(gpus.where == "$.cluster.nodes");
  CHECK(gpus.found == "131072 nodes of 16 GPUs = 2097152");
  std::string tail(kSmall);
  tail += '\n';
  tail += '\0';
  tail += "{}";
  CHECK(problem_of(tail).found == "a NUL byte");
  CHECK(problem_of(tail).where == "line 8, column 1");
}

// Without autocast the parameters have the type of the products, or are a float32 master copy of it.
TEST_CASE("types that contradict each other are refused") {
  const std::vector<Setting> half = {{"training.autocast", "false"}, {"training.compute_dtype", "float16"}};
  auto mixed = half;
  mixed.push_back({"training.parameter_dtype", "bfloat16"});
  CHECK(problem_of(kSmall, mixed).where == "$.training.parameter_dtype");
  CHECK(read(kSmall, half).training.parameter_dtype == graph::DType::float32);
  const auto flash = problem_of(kSmall, {{"training.compute_dtype", "float32"}});
  CHECK(flash.where == "$.model.attention");
  CHECK_THAT(flash.hint, Catch::Contains("unfused"));
  const Scenario full = read(kSmall, {{"training.compute_dtype", "float32"}, {"model.attention", "unfused"}});
  CHECK_FALSE(full.training.tf32);
}

TEST_CASE("a setting names itself when it is at fault") {
  const auto unknown = problem_of(kSmall, {{"plan.tq", "4"}});
  CHECK(unknown.file == "--set plan.tq=4");
  CHECK(unknown.where == "$.plan.tq");
  CHECK_THAT(unknown.hint, Catch::Contains("\"tp\""));
  CHECK(problem_of(kSmall, {{"plann.tp", "4"}}).file == "--set plann.tp=4");
  CHECK(problem_of(kSmall, {{"plan.tp.x", "4"}}).file == "--set plan.tp.x=4");
  CHECK(problem_of(kSmall, {{"cluster.faults[1].kind", "slow_gpu"}}).file == "--set cluster.faults[1].kind=slow_gpu");
  CHECK(problem_of(kSmall, {{"", "4"}}).found == "an empty path");
  CHECK(problem_of(kSmall, {{"plan.", "4"}}).file == "--set plan.=4");
  CHECK_THROWS_AS(parse_setting("plan.tp"), InputError);
  CHECK(parse_setting("a.b=c=d") == Setting{"a.b", "c=d"});
}

TEST_CASE("settings change, make and take away members") {
  CHECK(read(kSmall, {{"plan.tp", "4"}}).plan.tp == 4);
  CHECK(read(kSmall, {{"$.plan.recompute", "full"}}).plan.recompute == plan::Recompute::full);
  CHECK(read(kSmall, {{"plan.stage_layers", "[1,2]"}, {"plan.stage_layers[1]", "7"}}).plan.stage_layers == std::vector<int>{1, 7});
  CHECK(read(kSmall, {{"plan.stage_layers.0", "7"}}).plan.stage_layers == std::vector<int>{7});
  const Scenario graph = read(kSmall, {{"model.config", "null"}, {"model.sequence", "null"}, {"model.graph", "g.graph.json.gz"}});
  CHECK(graph.model.kind == ModelKind::graph);
  CHECK(graph.model.path == "/data/g.graph.json.gz");
  CHECK_THAT(problem_of(kSmall, {{"model.graph", "g.json"}}).hint, Catch::Contains("null"));
}

TEST_CASE("clusters: builtin with overrides, inline, and what a sound one needs") {
  const Scenario s = read(kSmall, {{"cluster.node.nic.bandwidth", "400 Gbit/s"}, {"cluster.fabric.oversubscription", "2"}});
  CHECK(s.cluster.node.nic.bandwidth == 50.0_GBps);
  CHECK(s.cluster.node.nics == 8);
  CHECK(s.cluster.fabric.oversubscription == 2.0);
  const auto name = problem_of(kSmall, {{"cluster.builtin", "dgx-a10080gb"}});
  CHECK(name.where == "$.cluster.builtin");
  CHECK_THAT(name.hint, Catch::Contains("dgx-a100-80gb"));
  CHECK(problem_of(kSmall, {{"cluster.nodes", "null"}}).where == "$.cluster.nodes");
  CHECK(problem_of(kSmall, {{"cluster.faults", R"([{"kind":"slow_gpu","node":2,"index":0,"factor":0.5}])"}}).where == "$.cluster.faults[0].node");
  CHECK(problem_of(kSmall, {{"cluster.builtin", "null"}}).where == "$.cluster.node.name");
}

TEST_CASE("dp left to fill takes what the other sizes leave") {
  CHECK(read(kSmall, {{"plan.dp", "fill"}, {"plan.pp", "4"}}).plan.dp == 2);
  CHECK(read(kSmall, {{"plan.dp", "3"}}).plan.dp == 3);
  // 16 / (2 x 3) is no whole number: the rule of plan legality refuses it with all its numbers, not the reader.
  CHECK(read(kSmall, {{"plan.pp", "3"}}).plan.dp == 2);
  CHECK(problem_of(kSmall, {{"plan.dp", "all"}}).where == "$.plan.dp");
}

TEST_CASE("adapters come back as written; what cannot be is refused") {
  const auto text = [](const std::string& model) {
    return R"({"schema_version": 1, "model": {)" + model + R"(}, "plan": {"micro_batch": 1, "global_batch": 8}, "cluster": {"builtin": "dgx-h100", "nodes": 1}})";
  };
  const std::string folder = std::string(SGSIM_SOURCE_DIR) + "/scenarios", config = R"("config": "models/llama3-8b.json", "sequence": 2048, "lora": )";
  const auto read_model = [&](const std::string& model) { return scenario::scenario_from_text(text(model), "x.json", folder); };
  const scenario::Scenario s = read_model(config + R"({"rank": 8, "targets": ["q_proj", "v_proj"], "dropout": 0.05})");
  CHECK(s.model.lora == import::Adapters{.rank = 8, .targets = {"q_proj", "v_proj"}, .dropout = 0.05});
  CHECK(scenario::scenario_from_text(scenario::effective_text(s), "y.json", folder).model.lora == s.model.lora);
  for (const char* lora : {"{}", R"({"rank": 0, "targets": ["q_proj"]})", R"({"rank": 8})", R"({"rank": 8, "targets": []})", R"({"rank": 8, "targets": "q_proj"})", R"({"rank": 8, "targets": [1]})",
                           R"({"rank": 8, "targets": ["q_proj"], "dropout": 1.0})", R"({"rank": 8, "targets": ["q_proj"], "alpha": 16})"}) {
    INFO(lora);
    CHECK_THROWS_AS(read_model(config + lora), InputError);
  }
  CHECK_THROWS_AS(read_model(R"("graph": "../traces/graphs/llama_1b.graph.json.gz", "lora": {"rank": 8, "targets": ["q_proj"]})"), InputError);
}

TEST_CASE("what is offloaded, which layers are recomputed and what the job costs come back as written") {
  const std::string text = R"({
    "schema_version": 1, "model": {"config": "models/llama3-8b.json", "sequence": 2048},
    "plan": {"dp": "fill", "micro_batch": 1, "global_batch": 64, "recompute": "full", "recompute_layers": 3, "offload": {"optimizer": true}, "schedule": "zb_h1"},
    "cluster": {"builtin": "dgx-h100", "nodes": 2},
    "economics": {"price": "2.1 USD/h", "gpu_mtbf": "50000 h", "checkpoint": "30 s", "restart": "600 s"}})";
  const std::string folder = std::string(SGSIM_SOURCE_DIR) + "/scenarios";
  const scenario::Scenario s = scenario::scenario_from_text(text, "x.json", folder);
  CHECK(s.plan.recompute_layers == 3);
  CHECK(s.plan.offload.optimizer);
  CHECK_FALSE(s.plan.offload.activations);
  CHECK(s.plan.schedule == plan::Schedule::zero_bubble);
  CHECK(s.economics.price == 2.1);
  CHECK(s.economics.currency == "USD");
  CHECK(s.economics.gpu_mtbf == Seconds(50000.0 * 3600.0));
  const scenario::Scenario again = scenario::scenario_from_text(scenario::effective_text(s), "y.json", folder);
  CHECK(again.plan == s.plan);
  CHECK(again.economics == s.economics);
  for (const char* price : {"2.1", "0 USD/h", "USD/h", "2.1 USD/h a GPU"}) CHECK_FALSE(scenario::parse_price(price));
}
