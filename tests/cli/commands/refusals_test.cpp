#include <nlohmann/json.hpp>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using nlohmann::json;
using sgsim::testing::run_sgsim;

namespace {

const std::string kSmall = "simulate scenarios/gpt2-124m-1xh200-compiled.json";
const std::string kEight = "simulate scenarios/llama3-8b-8xh100.json --set model.layers=2 ";

double step_time(const std::string& arguments) {
  const auto done = run_sgsim(arguments + " --json");
  INFO(done.err);
  REQUIRE(done.code == 0);
  return json::parse(done.out).at("step_time_s").get<double>();
}

}  // namespace

TEST_CASE("flags that name nothing are refused in words") {
  const auto foo = run_sgsim("foo");
  CHECK(foo.code == 2);
  CHECK_THAT(foo.err, Catch::Contains("foo: found an unknown subcommand") && Catch::Contains("simulate"));
  const auto below = run_sgsim(kEight + "--rank -1");
  CHECK(below.code == 2);
  CHECK_THAT(below.err, Catch::Contains("expected a rank from 0 to 7"));
  CHECK_THAT(run_sgsim(kEight + "--rank 8").err, Catch::Contains("found 8") && Catch::Contains("a rank from 0 to 7"));
  const auto word = run_sgsim(kEight + "--rank x");
  CHECK(word.code == 2);
  CHECK(word.err.size() < 200);
  const auto nowhere = run_sgsim(kSmall + " --trace ''");
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, Catch::Contains("empty file name"));
}

TEST_CASE("sizes out of range name their field") {
  CHECK_THAT(run_sgsim(kSmall + " --set model.sequence=4096").err, Catch::Contains("$.model.sequence") && Catch::Contains("found 4096") && Catch::Contains("gpt2-124m-1xh200-compiled.json"));
  const auto large = run_sgsim(kSmall + " --set plan.micro_batch=1073741824 --set plan.global_batch=1073741824");
  CHECK(large.code == 2);
  CHECK_THAT(large.err, Catch::Contains("$.plan.micro_batch x $.model.sequence"));
  const auto longest = run_sgsim(kSmall + " --set plan.global_batch=1000000");
  CHECK(longest.code == 2);  // 2 x 1,000,000 x (12 + 2)
  CHECK_THAT(longest.err, Catch::Contains("$.plan.global_batch") && Catch::Contains("28000000 passes"));
  CHECK_THAT(run_sgsim(kEight + "--set plan.global_batch=3").out, !Catch::Contains("0 micro-batches"));
}

// 8 GPUs, FSDP: gathers and reductions over NVLink. A hop of a millisecond must be seen.
TEST_CASE("NVLink latency acts") { CHECK(step_time(kEight + "--set 'cluster.node.nvlink.latency=1 ms'") > step_time(kEight) + 0.01); }

// 66.9 against 494.7 TFLOP/s: float32 products are several times as long without TF32.
TEST_CASE("float32 runs on the vector units unless TF32 is asked for") {
  const std::string full = kSmall + " --set training.compute_dtype=float32 --set training.autocast=false --set model.attention=unfused --set plan.micro_batch=8 --set plan.global_batch=8";
  CHECK(step_time(full) > 1.5 * step_time(full + " --set training.tf32=true"));
}

// Two nodes, tp 4: four data-parallel groups of two GPUs a node on eight NICs. NIC 0 lost: its group and the neighbour's have half.
// NIC 0 at half speed slows one group as much; both engines must see both.
TEST_CASE("a failed NIC costs about what a NIC at half speed costs, in both engines") {
  const std::string base = kEight + "--set cluster.nodes=2 --set plan.tp=4 --set plan.sharding=zero1 ";
  const std::string failed = "--set 'cluster.faults=[{\"kind\": \"failed_nic\", \"node\": 1, \"index\": 0}]' ";
  const double fast = step_time(base), fast_failed = step_time(base + failed);
  const double reference = step_time(base + "--engine simgrid"), reference_failed = step_time(base + failed + "--engine simgrid");
  CHECK(fast_failed > fast * 1.001);
  CHECK(fast_failed - fast == Approx(reference_failed - reference).epsilon(0.15));
}

TEST_CASE("a renamed GPU needs a profile of its own") {
  const std::string command = "simulate scenarios/llama3-8b-8xh100.json --set cluster.node.gpu.name=B200";
  const auto refused = run_sgsim(command);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("$.cluster.node.gpu.name") && Catch::Contains("a profile beside it"));
  const auto stated = run_sgsim(command + " --set cluster.node.gpu.profile=h100");
  CHECK((stated.code == 0 || stated.code == 4));
}

TEST_CASE("memory adds up, with the private pool of CUDA graphs") {
  const auto done = run_sgsim("simulate scenarios/gpt2-124m-1xh200-cuda-graph.json --json");
  REQUIRE(done.code == 0);
  const json rank = json::parse(done.out).at("classes").at(0);
  double kinds = 0.0;
  for (const auto& [kind, bytes] : rank.at("mem_at_peak_bytes").items()) kinds += kind == "runtime" ? 0.0 : bytes.get<double>();
  CHECK(rank.at("graph_pool_bytes").get<double>() > 0.0);
  CHECK(rank.at("peak_mem_bytes").get<double>() + rank.at("graph_pool_bytes").get<double>() == Approx(kinds).epsilon(1e-9));
}
