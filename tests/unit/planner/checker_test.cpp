#include <functional>

#include "planner/checker/plan_checker.h"
#include "tests/support/catch.h"

using sgsim::checker::check;
using sgsim::checker::Claim;

namespace {

// 16 GPUs: tp 2 x pp 2 x dp 4; 1e9 parameters: 250e6 a rank x (4 + 8 / 4) bytes = 1.5 GB at least. 6e9 flops a sample x 64 samples
// over 16 x 1e12 flop/s: 0.024 s at least.
Claim good() {
  Claim c;
  c.layers = 8;
  c.heads = 16;
  c.kv_heads = 8;
  c.ffn = 512;
  c.sequence = 128;
  c.parameters = c.trained = 1e9;
  c.flops_a_sample = 6e9;
  c.gpus = 16;
  c.gpu_memory = 10e9;
  c.gpu_flops = 1e12;
  c.dp = 4;
  c.tp = 2;
  c.pp = 2;
  c.sharding = "zero1";
  c.schedule = "1f1b";
  c.sequence_parallel = true;
  c.micro_batch = 2;
  c.global_batch = 64;
  c.step_time = 0.03;
  c.memory = 2e9;
  c.memory_needed = 1.8e9;
  c.memory_margin = 0.1;
  return c;
}

}  // namespace

TEST_CASE("checker: accepts a sound plan, and interleaved and GPipe ones") {
  CHECK(check(good()).empty());
  Claim c = good();
  c.schedule = "interleaved";
  c.virtual_stages = 4;
  CHECK(check(c).empty());
  c = good();
  c.schedule = "gpipe";
  CHECK(check(c).empty());
  c.schedule = "zb_h1";
  CHECK(check(c).empty());
  c.recomputes = true;
  CHECK(check(c).empty());
  c = good();
  c.recomputes = true;
  c.recompute_layers = 4;
  CHECK(check(c).empty());
  c = good();
  c.dp = 2, c.cp = 2;
  CHECK(check(c).empty());
}

TEST_CASE("checker: refuses what is wrong, one change at a time") {
  const std::pair<const char*, std::function<void(Claim&)>> changes[] = {
      {"ranks", [](Claim& c) { c.gpus = 32; }},
      {"samples", [](Claim& c) { c.global_batch = 60; }},
      {"layers", [](Claim& c) { c.layers = 1; }},
      {"stage layers", [](Claim& c) { c.stage_layers = {3, 4}; }},
      {"split backward passes resharded between", [](Claim& c) { c.schedule = "zb_h1", c.sharding = "fsdp", c.resharded = true; }},
      {"unknown schedule", [](Claim& c) { c.schedule = "zb_h2"; }},
      {"more layers recomputed than there are", [](Claim& c) { c.recomputes = true, c.recompute_layers = 5; }},
      {"layers recomputed without recomputation", [](Claim& c) { c.recompute_layers = 1; }},
      {"activations offloaded in a pipeline", [](Claim& c) { c.offload_activations = true; }},
      {"experts over too few replicas", [](Claim& c) { c.dp = 1, c.cp = 4, c.tp = 2, c.experts = 8, c.ep = 8; }},
      {"two chunks a context rank", [](Claim& c) { c.dp = 2, c.cp = 2, c.sequence = 126; }},
      {"heads", [](Claim& c) { c.heads = 15; }},
      {"kv heads", [](Claim& c) { c.kv_heads = 1; }},
      {"ffn", [](Claim& c) { c.ffn = 511; }},
      {"sequence", [](Claim& c) { c.sequence = 127; }},
      {"sequence parallel", [](Claim& c) { c.tp = 1, c.dp = 8; }},
      {"experts", [](Claim& c) { c.ep = 2; }},
      {"zero2", [](Claim& c) { c.sharding = "zero2"; }},
      {"shard group", [](Claim& c) { c.sharding = "hybrid", c.shard_group = 3; }},
      {"interleaved groups", [](Claim& c) { c.schedule = "interleaved", c.virtual_stages = 2, c.global_batch = 56; }},
      {"chunks", [](Claim& c) { c.virtual_stages = 2; }},
      {"too little memory claimed", [](Claim& c) { c.memory_needed = 1.4e9; }},
      {"shows less than it needs", [](Claim& c) { c.memory = 1.7e9; }},
      {"fits without its margin only", [](Claim& c) { c.memory = c.memory_needed = 9.2e9; }},  // 10e9 / 1.1 = 9.09e9
      {"does not fit", [](Claim& c) { c.memory = c.memory_needed = 11e9; }},
      {"faster than the peak", [](Claim& c) { c.step_time = 0.02; }},
  };
  for (const auto& [name, change] : changes) {
    Claim c = good();
    change(c);
    INFO(name);
    CHECK_FALSE(check(c).empty());
  }
}
