#include "sim/cluster/builders.h"
#include "sim/plan/legality.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::plan;

namespace {

const ModelShape kLlama70b{.layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 28672, .vocab = 128256, .sequence = 8192, .experts = 0};

Plan plan_3d() {
  Plan p;
  p.dp = 16; p.tp = 8; p.pp = 8;
  p.sequence_parallel = true;
  p.micro_batch = 1; p.global_batch = 2048;
  return p;
}

std::vector<std::string> rules(const Plan& p, int nodes = 128) {
  std::vector<std::string> names;
  for (const Violation& v : check_plan(kLlama70b, p, *cluster::builtin_cluster("dgx-a100-80gb", nodes))) names.push_back(v.rule);
  return names;
}

}  // namespace

TEST_CASE("Llama-3-70B with TP 8, PP 8, DP 16 on 1,024 GPUs is legal") {
  CHECK(rules(plan_3d()).empty());
  CHECK(plan_3d().micro_batches() == 128);
}

TEST_CASE("each rule is named with its numbers") {
  Plan p = plan_3d();
  p.tp = 16; p.dp = 8; p.global_batch = 1024;
  const auto violations = check_plan(kLlama70b, p, *cluster::builtin_cluster("dgx-a100-80gb", 128));
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].rule == "tp_divides_kv_heads");
  CHECK(violations[0].message == "tensor parallel 16 does not divide 8 key/value heads; use one of 1, 2, 4, 8");

  p = plan_3d();
  CHECK(rules(p, 64) == std::vector<std::string>{"world_size"});
  p.global_batch = 2049;
  CHECK(rules(p) == std::vector<std::string>{"batch_divides"});
  p = plan_3d();
  p.schedule = Schedule::interleaved;
  CHECK(rules(p) == std::vector<std::string>{"interleaved_needs_chunks"});
  p.virtual_stages = 11;
  CHECK(rules(p) == std::vector<std::string>{"pp_at_most_layers"});
  p = plan_3d();
  p.virtual_stages = 2;
  CHECK(rules(p) == std::vector<std::string>{"chunks_need_interleaved"});
  p = plan_3d();
  p.sharding = Sharding::zero2;
  CHECK(rules(p) == std::vector<std::string>{"zero2_with_pipeline"});
  p = plan_3d();
  p.ep = 2;
  CHECK(rules(p) == std::vector<std::string>{"ep_needs_experts"});
  p = plan_3d();
  p.cp = 2; p.dp = 8; p.global_batch = 1024;
  CHECK(rules(p).empty());
  p.cp = 3; p.tp = 1; p.sequence_parallel = false; p.pp = 1; p.dp = 8; p.global_batch = 1024;
  CHECK(rules(p, 3) == std::vector<std::string>{"cp_divides_sequence"});
  p = plan_3d();
  p.stage_layers = {10, 10, 10, 10, 10, 10, 10, 11};
  CHECK(rules(p) == std::vector<std::string>{"stage_layers_sum"});
  p = plan_3d();
  p.micro_batch = 0;
  CHECK(rules(p) == std::vector<std::string>{"size_positive"});
}

TEST_CASE("uneven stages are stated with what they add: 80 layers over 3 stages, 27 against 26.67") {
  Plan p;
  p.dp = 1; p.tp = 8; p.pp = 3; p.global_batch = 3;
  CHECK(chunk_layers(kLlama70b, p) == std::vector<int>{27, 27, 26});
  const auto notes = plan_notes(kLlama70b, p, *cluster::builtin_cluster("dgx-a100-80gb", 3));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].rule == "uneven_stages");
  CHECK(notes[0].message.find("1.2 %") != std::string::npos);
}

// Each remaining rule alone, on the plan above with one field changed; the message carries the numbers.
TEST_CASE("every rule refuses what it says, with its numbers") {
  ModelShape model{.layers = 8, .hidden = 768, .heads = 12, .kv_heads = 12, .ffn = 3072, .vocab = 50257, .sequence = 1024, .experts = 6};
  const auto refusal = [&](const Plan& p) {
    const auto found = check_plan(model, p, *cluster::builtin_cluster("dgx-a100-80gb", p.world() / 8));
    REQUIRE(found.size() == 1);
    return found[0].rule + ": " + found[0].message;
  };
  const auto begins = [&](const Plan& p, const std::string& text) {
    const std::string found = refusal(p);
    CHECK(found.substr(0, text.size()) == text);
  };
  const Plan base{.dp = 8, .global_batch = 64};
  Plan p = base;
  model.kv_heads = 0, p.tp = 8;
  begins(p, "tp_divides_heads: tensor parallel 8 does not divide 12 attention heads");
  model.heads = 16, model.ffn = 3076;
  begins(p, "tp_divides_ffn: tensor parallel 8 does not divide 3076 feed-forward width");
  model.ffn = 3072, model.sequence = 1020, p.sequence_parallel = true;
  begins(p, "sp_divides_sequence: tensor parallel x context parallel 8 does not divide 1020 tokens of a sequence");
  p = base, p.sequence_parallel = true;
  begins(p, "sequence_parallel_needs_tp");
  p = base, p.ep = 4;
  begins(p, "ep_divides_experts: expert parallel 4 does not divide 6 experts");
  p = base, p.ep = 3;
  begins(p, "ep_divides_dp: expert parallel 3 does not divide 8 data-parallel ranks");
  p = base, p.ep = 2, p.sharding = Sharding::hybrid;
  CHECK(check_plan(model, p, *cluster::builtin_cluster("dgx-a100-80gb", 1)).empty());
  p.ep = 3, p.dp = 24, p.fsdp.shard_group = 8, p.global_batch = 96;
  begins(p, "hybrid_ep_divides_group: expert parallel 3 does not divide hybrid shard groups of 8");
  p = base, p.sharding = Sharding::hybrid, p.fsdp.shard_group = 1;
  begins(p, "hybrid_group: hybrid shard groups of 1 rank among 8");
  p = base, p.sharding = Sharding::hybrid, p.fsdp.shard_group = 3;
  begins(p, "hybrid_divides_dp: hybrid shard groups of 3 do not divide dp 8");
  p = base, p.sharding = Sharding::fsdp, p.fsdp.layers_per_unit = 0;
  begins(p, "fsdp_unit: fsdp.layers_per_unit is 0");
  p.fsdp.layers_per_unit = 1, p.fsdp.prefetch = -1;
  begins(p, "fsdp_prefetch: fsdp.prefetch is -1");
  p = base, p.pp = 4, p.schedule = Schedule::interleaved, p.virtual_stages = 2, p.global_batch = 48;
  begins(p, "interleaved_micro_batches: the interleaved schedule needs micro-batches in multiples of pp 4; found 6");
  p.global_batch = 64, p.stage_layers = {2, 2, 2, 2};
  begins(p, "stage_layers_count: stage_layers has 4 entries; expected 8");
  p.stage_layers = {0, 2, 1, 1, 1, 1, 1, 1};
  begins(p, "stage_layers_positive");
  p = base, p.schedule = Schedule::zero_bubble;
  begins(p, "zero_bubble_needs_stages");
  p.pp = 2, p.sharding = Sharding::fsdp;
  begins(p, "zero_bubble_sharding");
  p.sharding = Sharding::hybrid;
  begins(p, "zero_bubble_sharding");
  p = base, p.recompute_layers = 1;
  begins(p, "recompute_layers: recompute_layers is 1 with recompute none");
  p.recompute = Recompute::full, p.recompute_layers = 99;
  begins(p, "recompute_layers: recompute_layers is 99; the smallest of 1 chunks has");
  p = base, p.offload.activations = true, p.recompute = Recompute::full;
  begins(p, "offload_with_recompute");
  p.recompute = Recompute::none, p.pp = 2, p.dp = 4;
  begins(p, "offload_with_pipeline: activation offload with pipeline parallel 2");
  p = base, p.pp = 2, p.sharding = Sharding::zero2;
  begins(p, "zero2_with_pipeline: ZeRO-2 with pipeline parallel 2: each rank keeps its part of the gradients only, so all 8 micro-batches");
}
