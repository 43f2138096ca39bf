// The rule by which a plan is made small enough for one machine.
#include "planner/validate/scale.h"

#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using validate::scale_to;
using validate::Scaled;

namespace {

scenario::Scenario job(plan::Plan plan, int layers = 0) {
  scenario::Scenario s;
  s.file = "job.json";
  s.plan = std::move(plan);
  s.model.layers = layers;
  s.cluster.nodes = 16;
  s.cluster.node.gpus = 8;
  return s;
}

constexpr plan::ModelShape kShape{.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .ffn = 14336, .vocab = 128256, .sequence = 4096, .experts = 0};
const validate::Fits kAlways = [](const scenario::Scenario&) { return true; };

}  // namespace

TEST_CASE("a plan that the machine can run stays as it is") {
  const Scaled s = scale_to(job({.dp = 2, .micro_batch = 1, .global_batch = 16}), kShape, 2, kAlways);
  CHECK(s.changes.empty());
  CHECK(s.scenario.plan.micro_batches() == 8);
  CHECK(s.scenario.cluster.gpus() == 2);
}

TEST_CASE("replicas go first, then pipeline stages with their layers, then micro-batches") {
  // 16 replicas of 2 x 4 GPUs with 32 micro-batches of one sample, 8 layers a stage; 4 GPUs: one replica of 2 x 2 with 16 layers, 4 micro-batches.
  const Scaled s = scale_to(job({.dp = 16, .tp = 2, .pp = 4, .micro_batch = 1, .global_batch = 512}), kShape, 4, kAlways);
  CHECK(s.scenario.plan.dp == 1);
  CHECK(s.scenario.plan.tp == 2);
  CHECK(s.scenario.plan.pp == 2);
  CHECK(s.scenario.model.layers == 16);
  CHECK(s.scenario.plan.micro_batches() == 4);
  CHECK(s.scenario.plan.micro_batch == 1);
  CHECK(s.changes.size() == 3);
  CHECK(s.scenario.cluster.gpus() == 4);
  // 8 GPUs: the whole pipeline, 8 micro-batches.
  const Scaled whole = scale_to(job({.dp = 16, .tp = 2, .pp = 4, .micro_batch = 1, .global_batch = 512}), kShape, 8, kAlways);
  CHECK(whole.scenario.plan.pp == 4);
  CHECK(whole.scenario.model.layers == 0);
  CHECK(whole.scenario.plan.micro_batches() == 8);
}

TEST_CASE("chunks of interleaved stages keep their layers") {
  // 4 stages of 2 chunks of 4 layers; on 2 GPUs 2 stages of 2 chunks of 4 layers; on one GPU a stage of 8 layers, no pipeline.
  const plan::Plan p{.pp = 4, .schedule = plan::Schedule::interleaved, .virtual_stages = 2, .micro_batch = 1, .global_batch = 16};
  const Scaled two = scale_to(job(p), kShape, 2, kAlways);
  CHECK(two.scenario.model.layers == 16);
  CHECK(two.scenario.plan.virtual_stages == 2);
  const Scaled one = scale_to(job(p), kShape, 1, kAlways);
  CHECK(one.scenario.model.layers == 8);
  CHECK(one.scenario.plan.virtual_stages == 1);
  CHECK(one.scenario.plan.schedule == plan::Schedule::one_f_one_b);
}

TEST_CASE("layers go until the plan fits") {
  const validate::Fits at_most_six = [](const scenario::Scenario& s) { return s.model.layers > 0 && s.model.layers <= 6; };
  const Scaled s = scale_to(job({.dp = 1, .micro_batch = 1, .global_batch = 1}), kShape, 1, at_most_six);
  CHECK(s.scenario.model.layers == 6);
  REQUIRE(s.changes.size() == 1);
  CHECK(s.changes[0] == "6 of 32 layers: as many as fit in memory");
  CHECK_THROWS_AS(scale_to(job({.dp = 1, .micro_batch = 1, .global_batch = 1}), kShape, 1, [](const scenario::Scenario&) { return false; }), InputError);
}

TEST_CASE("what shapes kernels is not scaled") {
  try {
    (void)scale_to(job({.dp = 1, .tp = 8, .micro_batch = 1, .global_batch = 1}), kShape, 2, kAlways);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().found == "tp 8 x cp 1 on 2 GPUs");
    CHECK(error.problem().expected == "at least 8 GPUs");
  }
  CHECK_THROWS_AS(scale_to(job({.dp = 8, .ep = 8, .micro_batch = 1, .global_batch = 8}), kShape, 2, kAlways), InputError);
}
