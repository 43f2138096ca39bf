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
  CHECK(rules(p) == std::vector<std::string>{"cp_not_modelled"});
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
