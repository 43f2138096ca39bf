#include "sim/scenario/summarize.h"

#include <nlohmann/json.hpp>

#include "sim/scenario/interval.h"
#include "sim/scenario/program_totals.h"
#include "sim/scenario/report.h"
#include "tests/support/catch.h"
#include "tests/unit/scenario/small_workload.h"

using namespace sgsim;
using namespace sgsim::scenario;
using lower::TaskKind;
using sgsim::testing::ProgramBuilder;
using sgsim::testing::simulate_all;
using sgsim::testing::workload_of;

namespace {

struct Small {
  Scenario scenario;
  Inputs inputs;
  lower::Lowered lowered;
  Simulation simulation;
};

/// Two ranks: 3 s and 1 s of computation, then an all-reduce of 1 s: step 4 s; rank 1 waits 2 s.
Small two_ranks() {
  Small s;
  s.scenario.file = "x.json";
  s.scenario.plan.global_batch = 8;
  s.scenario.plan.dp = 2;
  s.scenario.cluster.nodes = 1;
  s.scenario.cluster.node.gpus = 2;
  s.scenario.cluster.node.gpu = {.name = "G", .profile = "g", .memory = 10_GiB};
  graph::OperatorGraph graph;
  graph.sequence = 100;
  cost::Profile profile;
  profile.gpu.peak[graph::DType::bfloat16] = {.value = FlopsPerSecond(1e12), .source = "x"};
  s.inputs = {.graph = std::make_shared<const graph::OperatorGraph>(graph), .shape = {}, .profile = std::make_shared<const cost::Profile>(profile), .model = "small"};
  const auto program = [](const char* name, double before) {
    return ProgramBuilder(name).compute("a", {{"mm", before}}).communicate(TaskKind::collective, "all_reduce dp", 0, 1.0).build();
  };
  s.simulation = simulate_all(workload_of({program("slow", 3.0), program("quick", 1.0)}));
  s.lowered.model_flops = Flops(2e12);
  s.lowered.hardware_flops = Flops(4e12);
  s.lowered.memory.resize(2);
  s.lowered.memory[0].peak = 4_GiB;
  s.lowered.memory[0].reserved = 5_GiB;
  s.lowered.memory[1].peak = 11_GiB;
  s.lowered.memory[1].reserved = 12_GiB;
  return s;
}

}  // namespace

TEST_CASE("a step's figures are means over ranks and add up") {
  const Small s = two_ranks();
  const Result r = summarize(s.scenario, s.inputs, s.lowered, s.simulation);
  CHECK(r.step_time.value() == Approx(4.0));
  CHECK(r.compute.value() == Approx(2.0));       // (3 + 1) / 2
  CHECK(r.exposed_comm.value() == Approx(1.0));
  CHECK(r.bubble.value() == Approx(1.0));        // (0 + 2) / 2
  CHECK((r.compute + r.exposed_comm + r.bubble + r.host_bound + r.other_idle).value() == Approx(4.0));
  CHECK(r.samples_per_second == Approx(2.0));    // 8 / 4 s
  CHECK(r.tokens_per_second == Approx(200.0));
  CHECK(r.mfu == Approx(0.25));                  // 2e12 / (4 s x 2 x 1e12)
  CHECK(r.hfu == Approx(0.5));
  CHECK(r.compute_sources.share[0] == Approx(1.0));
  CHECK(r.comm_sources.share[static_cast<std::size_t>(cost::Source::fitted)] == Approx(1.0));
  CHECK(r.peak_memory == 11_GiB);
  CHECK_FALSE(r.fits);                           // 12 of 10 GiB
  REQUIRE(r.classes.size() == 2);
  CHECK(r.classes[1].name == "quick");
  CHECK(r.kernels.front().name == "mm");
  CHECK(r.kernels.front().launches == 1);
}

TEST_CASE("the interval grows with its inputs' errors and is what its assumptions say") {
  const Small s = two_ranks();
  const Result r = summarize(s.scenario, s.inputs, s.lowered, s.simulation);
  // One kernel name of sigma 5 %: kernels 0.05 x (2 + 1) / 4; transfers of 10 %: 0.1 x 1 / 4; the model of a profile without "model.sigma". All independent.
  const double sigma = std::sqrt(0.0375 * 0.0375 + 0.025 * 0.025 + kModelSigma * kModelSigma);
  CHECK(r.interval.relative == Approx(1.645 * sigma));
  CHECK(r.interval.high.value() == Approx(4.0 * (1.0 + 1.645 * sigma)));
  CHECK(r.interval.low.value() == Approx(4.0 / (1.0 + 1.645 * sigma)));
  // Two kernels of equal time and error: variance half common (2 e)^2, half own 2 e^2 -> sqrt(3) e on 2 t.
  ProgramTotals totals;
  totals.kernels["a"] = totals.kernels["b"] = {.time = Seconds(1.0), .error = Seconds(0.1), .launches = 1};
  Result two;
  two.step_time = two.compute = Seconds(2.0);
  CHECK(interval_of(two, totals, 0.02).parts.front().second == Approx(std::sqrt(3.0) * 0.1 / 2.0));
}

TEST_CASE("a profile that was compared with runs says how far the model errs") {
  cost::Profile profile;
  CHECK(model_sigma_of(profile) == kModelSigma);
  profile.factors["model.sigma"] = {0.03, ""};
  CHECK(model_sigma_of(profile) == 0.03);
}

TEST_CASE("reports print every figure, for people and for scripts") {
  const Small s = two_ranks();
  const Result r = summarize(s.scenario, s.inputs, s.lowered, s.simulation);
  const auto tree = nlohmann::json::parse(json_report(s.scenario, s.inputs, r, Seconds(0.01)));
  for (const char* key : {"step_time_s", "tokens_per_s", "mfu", "compute_s", "exposed_comm_s", "bubble_s", "host_bound_s", "peak_mem_bytes", "engine",
                          "ranks", "rank_classes", "wall_s", "diagnostics"}) {
    CHECK(tree.contains(key));
  }
  CHECK(tree.at("step_time_s") == Approx(4.0));
  CHECK(tree.at("ranks") == 2);
  CHECK(tree.at("fits") == false);
  const std::string text = text_report(s.scenario, s.inputs, r, Seconds(0.01));
  CHECK_THAT(text, Catch::Contains("4 s"));
  CHECK_THAT(text, Catch::Contains("DOES NOT FIT: 2 GiB over"));
  CHECK_THAT(text, Catch::Contains("measured 100 %"));
  const std::string refused = text_report(s.scenario, std::vector<plan::Violation>{{"rule_x", "because 3 does not divide 4"}});
  CHECK_THAT(refused, Catch::Contains("rule_x: because 3 does not divide 4"));
}
