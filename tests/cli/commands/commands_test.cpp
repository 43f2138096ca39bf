#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using nlohmann::json;
using sgsim::testing::content;
using sgsim::testing::scratch;
using sgsim::testing::run_sgsim;

namespace {

const std::string kSmall = "scenarios/gpt2-124m-1xh200-compiled.json";
const std::string kPipeline = "scenarios/llama3-8b-8xh100.json --set plan.dp=4 --set plan.pp=2 --set plan.sharding=zero1 --set model.layers=4";

}  // namespace

TEST_CASE("help and version") {
  CHECK(run_sgsim("--version").out == "sgsim 0.1.0\n");
  const auto help = run_sgsim("--help");
  CHECK(help.code == 0);
  for (const char* command : {"simulate", "explain", "sweep", "info", "scenario"}) {
    CHECK_THAT(help.out, Catch::Contains(command));
    CHECK(run_sgsim(std::string(command) + " --help").code == 0);
  }
  CHECK(run_sgsim("").code == 2);
  CHECK(run_sgsim("simulat x").code == 2);
  CHECK(run_sgsim("simulate " + kSmall + " --engine astra").code == 2);
}

TEST_CASE("simulate prints a page for people and JSON for scripts that agree") {
  const auto page = run_sgsim("simulate " + kSmall);
  CHECK(page.code == 0);
  CHECK(page.err.empty());
  CHECK_THAT(page.out, Catch::Contains("step time") && Catch::Contains("90 % interval") && Catch::Contains("fits:"));
  const auto printed = run_sgsim("simulate " + kSmall + " --json");
  CHECK(printed.code == 0);
  const json result = json::parse(printed.out);
  const double sum = result.at("compute_s").get<double>() + result.at("exposed_comm_s").get<double>() + result.at("bubble_s").get<double>() +
                     result.at("host_bound_s").get<double>() + result.at("other_idle_s").get<double>();
  CHECK(sum == Approx(result.at("step_time_s").get<double>()));
  CHECK(result.at("step_time_s").get<double>() > 0.0);
  CHECK(result.at("ranks") == 1);
  CHECK(result.at("engine") == "fast");
  CHECK(result.at("mfu").get<double>() < 1.0);
}

TEST_CASE("both engines and all ranks") {
  const auto figure = [](const std::string& arguments) {
    const auto done = run_sgsim("simulate " + kPipeline + " --json " + arguments);
    INFO(done.err);
    REQUIRE(done.code == 0);
    return json::parse(done.out);
  };
  const json folded = figure(""), full = figure("--full"), reference = figure("--engine simgrid");
  CHECK(full.at("rank_classes") == 8);
  CHECK(folded.at("rank_classes") < 8);
  CHECK(full.at("step_time_s").get<double>() == Approx(folded.at("step_time_s").get<double>()).epsilon(1e-9));
  CHECK(reference.at("engine") == "simgrid");
  CHECK(reference.at("step_time_s").get<double>() == Approx(folded.at("step_time_s").get<double>()).epsilon(1e-9));  // one node: nothing is shared
}

TEST_CASE("a timeline for Perfetto") {
  const std::string path = scratch("trace.json.gz");
  const auto done = run_sgsim("simulate " + kPipeline + " --trace " + path);
  CHECK(done.code == 0);
  CHECK_THAT(done.err, Catch::Contains("ui.perfetto.dev"));
  const auto info = run_sgsim("info " + path);
  CHECK(info.code == 0);
  CHECK_THAT(info.out, Catch::Contains("timeline of a predicted step") && Catch::Contains("arrows"));
  CHECK(run_sgsim("simulate " + kPipeline + " --trace " + path + " --rank 5").code == 0);
  const auto none = run_sgsim("simulate " + kPipeline + " --trace " + path + " --rank 8");
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("0 to 7"));
  CHECK(run_sgsim("simulate " + kSmall + " --trace /nonexistent/t.json").code == 3);
  // Of 1,024 ranks one is drawn: they all do the same.
  const auto many = run_sgsim("simulate scenarios/llama3-70b-1024xa100.json --trace " + path);
  CHECK(many.code == 0);
  CHECK_THAT(many.err, Catch::Contains("(1 rank, "));
  CHECK(std::filesystem::file_size(path) < 2'000'000);
}

TEST_CASE("one rank, and memory over time") {
  const json rank = json::parse(run_sgsim("simulate " + kPipeline + " --rank 6 --json").out);
  CHECK(rank.at("rank").at("example_rank") == 6);
  CHECK_THAT(run_sgsim("simulate " + kPipeline + " --rank 6").out, Catch::Contains("rank 6, with those alike"));
  const json curve = json::parse(run_sgsim("simulate " + kSmall + " --json").out).at("memory_curve_bytes");
  REQUIRE(curve.at("time_s").size() > 1);
  CHECK(curve.at("time_s").size() == curve.at("activations").size());
  CHECK(std::is_sorted(curve.at("time_s").begin(), curve.at("time_s").end()));
}

TEST_CASE("what is live, and bytes on links") {
  const std::string live = run_sgsim("simulate " + kSmall + " --live peak").out;
  CHECK_THAT(live, Catch::Contains("live at ") && Catch::Contains("saved activations") && Catch::Contains("layer 0"));
  const auto word = run_sgsim("simulate " + kSmall + " --live soon");
  CHECK(word.code == 2);
  CHECK_THAT(word.err, Catch::Contains("--live") && Catch::Contains("peak"));
  CHECK_THAT(run_sgsim("simulate " + kPipeline + " --links").out, Catch::Contains("busiest of ") && Catch::Contains("node0.gpu0.nvlink"));
}

TEST_CASE("bad input says where and how to mend it") {
  const auto missing = run_sgsim("simulate nothing.json");
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, Catch::Contains("nothing.json"));
  const auto key = run_sgsim("simulate " + kSmall + " --set plan.micro_bach=2");
  CHECK(key.code == 2);
  CHECK_THAT(key.err, Catch::Contains("--set plan.micro_bach=2") && Catch::Contains("micro_batch"));
  CHECK(run_sgsim("simulate " + kSmall + " --set plan.tp").code == 2);
  const auto unit = run_sgsim("scenario " + kSmall + " --set cluster.node.nic.bandwidth=25");
  CHECK(unit.code == 2);
  CHECK_THAT(unit.err, Catch::Contains("Gbit/s"));
  CHECK(run_sgsim("info README.md").code == 2);
  CHECK(run_sgsim("info nothing").code == 2);
}

TEST_CASE("an illegal plan names its rule and numbers, exit code 4") {
  const auto text = run_sgsim("simulate " + kSmall + " --set plan.tp=5");
  CHECK(text.code == 4);
  CHECK_THAT(text.out, Catch::Contains("world_size") && Catch::Contains("5"));
  const auto printed = run_sgsim("simulate " + kSmall + " --set plan.tp=5 --json");
  CHECK(printed.code == 4);
  CHECK(json::parse(printed.out).at("infeasible").at(0).contains("rule"));
}

TEST_CASE("a plan that does not fit says by how much and what would, exit code 4") {
  const auto done = run_sgsim("simulate " + kSmall + " --set plan.micro_batch=512 --set plan.global_batch=512");
  CHECK(done.code == 4);
  CHECK_THAT(done.out, Catch::Contains("DOES NOT FIT") && Catch::Contains("what would fit"));
  const auto printed = run_sgsim("simulate " + kSmall + " --set plan.micro_batch=512 --set plan.global_batch=512 --json");
  CHECK(printed.code == 4);
  const json result = json::parse(printed.out);
  CHECK(result.at("fits") == false);
  CHECK(result.at("reserved_mem_bytes") > result.at("capacity_bytes"));
}

TEST_CASE("the effective scenario simulates to the same") {
  const std::string path = scratch("effective.json");
  const auto effective = run_sgsim("scenario " + kSmall + " --effective");
  REQUIRE(effective.code == 0);
  std::ofstream(path) << effective.out;
  const json first = json::parse(run_sgsim("simulate " + kSmall + " --json").out), second = json::parse(run_sgsim("simulate " + path + " --json").out);
  CHECK(first.at("step_time_s") == second.at("step_time_s"));
  CHECK(first.at("peak_mem_bytes") == second.at("peak_mem_bytes"));
  CHECK(first.at("defaults") == second.at("defaults"));
}

TEST_CASE("info knows every kind of file of ours") {
  const std::pair<const char*, const char*> files[] = {{"scenarios/llama3-70b-1024xa100.json", ": scenario"},
                                                       {"scenarios/models/llama3-70b.json", "llama family"},
                                                       {"scenarios/profiles/h200.json", ": profile"},
                                                       {"scenarios/stacks/pytorch-2.json", ": training stack \"pytorch-2\""},
                                                       {"scenarios/records/h200.json.gz", ": records of training runs"},
                                                       {"scenarios/records/collectives.json.gz", "measured collectives"},
                                                       {"scenarios/records/models.json", ": facts of"},
                                                       {"scenarios/suites/published.json", ": suite of tolerances"},
                                                       {"scenarios/sweeps/llama3-70b-3d-plans.json", ": sweep"},
                                                       {"scenarios/clusters/a100-cloud-4x100g.json", ": cluster"},
                                                       {"tests/fuzz/corpus/import_chakra/two_nodes.et", "sgsim import"},
                                                       {"traces/graphs/llama_1b.graph.json.gz", ": operator graph"}};
  for (const auto& [path, says] : files) {
    const auto done = run_sgsim(std::string("info ") + path);
    INFO(path << done.err);
    CHECK(done.code == 0);
    CHECK_THAT(done.out, Catch::Contains(says));
  }
}

TEST_CASE("explain names the path and changes with their gains") {
  const auto done = run_sgsim("explain scenarios/gpt2-124m-1xh200-eager.json --json");
  INFO(done.err);
  REQUIRE(done.code == 0);
  const json e = json::parse(done.out);
  double path = 0.0;
  for (const auto& item : e.at("critical_path")) path += item.at("time_s").get<double>();
  CHECK(path == Approx(e.at("step_time_s").get<double>()));
  // The host cannot feed the GPU at micro-batch 1: a CUDA graph must be among the changes, and gain.
  bool graph = false;
  for (const auto& change : e.at("changes")) graph = graph || (change.at("name") == "execution cuda_graph" && change.at("gain") > 0.5);
  CHECK(graph);
  CHECK_THAT(run_sgsim("explain scenarios/gpt2-124m-1xh200-eager.json").out, Catch::Contains("--set training.execution=cuda_graph"));
}

TEST_CASE("what tensor parallelism leaves whole is stated") {
  const auto resnet = run_sgsim("simulate scenarios/resnet50-captured-1xh200.json --set plan.tp=2 --set plan.dp=1 --set cluster.node.gpus=2");
  REQUIRE(resnet.code == 0);
  CHECK_THAT(resnet.out, Catch::Contains("tensor parallel 2 divides 0.1 % of the arithmetic"));
  const auto llama = run_sgsim("simulate scenarios/llama3-70b-1024xa100-3d.json");
  CHECK_THAT(llama.out, !Catch::Contains("each rank computes the rest whole"));
}

TEST_CASE("MFU's operations are the model's, however its attention is written") {
  const auto flops = [](const std::string& settings) {
    const auto done = run_sgsim("simulate scenarios/llama3-8b-8xh100.json --json " + settings);
    REQUIRE((done.code == 0 || done.code == 4));
    return json::parse(done.out).at("model_flops").get<double>();
  };
  const double flash = flops("");
  CHECK(flops("--set model.attention=unfused") == Approx(flash).epsilon(1e-9));
  CHECK(flops("--set model.dense_mask=true") == Approx(flash).epsilon(1e-9));
  // A captured graph's mask may hide anything: counted in full, and said.
  const auto captured = run_sgsim("simulate scenarios/llama-1b-captured-1xh200.json");
  CHECK_THAT(captured.out, Catch::Contains("attention in full, as the graph does not mark it causal"));
}
