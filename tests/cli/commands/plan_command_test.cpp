#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using namespace sgsim::testing;

namespace {

// Four layers of LLaMA-3-8B on one node: a search of about a second.
const std::string kSmall = "plan scenarios/llama3-8b-8xh100.json --set model.layers=4 ";

}  // namespace

TEST_CASE("plan --json: counts, a memory rule, placement, and plans that keep it") {
  const auto out = run_sgsim(kSmall + "--json --top 3 --placement --memory-margin 20 -j 2");
  REQUIRE(out.code == 0);
  const auto json = nlohmann::json::parse(out.out);
  CHECK(json["complete"] == true);
  CHECK(json["memory_rule"]["margin"].get<double>() == Approx(0.2));
  REQUIRE(json["best"].size() == 3);
  for (const auto& plan : json["best"]) {
    CHECK(plan["simulated"] == true);
    CHECK(plan["needed_memory_bytes"].get<double>() * 1.2 <= json["memory_rule"]["capacity_bytes"].get<double>());
    CHECK(plan["needed_memory_bytes"].get<double>() <= plan["reserved_memory_bytes"].get<double>());
  }
  CHECK(json["placement"].size() >= 1);
  std::uint64_t fell_out = 0;
  for (const auto& [rule, what] : json["fell_out"].items()) {
    INFO(rule);
    CHECK_FALSE(what["example"].get<std::string>().empty());
    fell_out += what["plans"].get<std::uint64_t>();
  }
  CHECK(fell_out > 0);
}

// "--set" flags of a printed plan's settings.
std::string flags_of(const nlohmann::json& settings) {
  std::string flags;
  for (const auto& [path, value] : settings.items()) flags += " --set '" + path + "=" + value.get<std::string>() + "'";
  return flags;
}

TEST_CASE("plan --json: simulate accepts every printed plan's settings and takes the same time") {
  for (const std::string objective : {"time", "memory"}) {
    const auto out = run_sgsim(kSmall + "--json --top 4 -j 2 --objective " + objective);
    REQUIRE(out.code == 0);
    const auto json = nlohmann::json::parse(out.out);
    int alone = 0;
    for (const std::string list : {"best", "pareto_front"}) {
      const auto& plans = json[list];
      for (std::size_t i = 0; i < plans.size(); i += list == "best" ? 1 : 1 + plans.size() / 8) {
        const auto& plan = plans[i];
        const auto again = run_sgsim("simulate scenarios/llama3-8b-8xh100.json --json --set model.layers=4" + flags_of(plan["settings"]));
        INFO(plan["plan"] << ": " << again.err);
        REQUIRE((again.code == 0 || again.code == 4));  // 4: blocks that the allocator holds unused count there
        CHECK(nlohmann::json::parse(again.out)["step_time_s"].get<double>() == Approx(plan["step_time_s"].get<double>()).epsilon(1e-9));
        if (plan["settings"]["plan.dp"] == "1" && plan["settings"]["plan.cp"] == "1") ++alone;
      }
    }
    if (objective == "memory") CHECK(alone > 0);  // one data-parallel rank: no buckets
  }
}

TEST_CASE("plan --budget: out before a plan was looked at is not \"nothing fits\"") {
  const auto out = run_sgsim("plan scenarios/llama3-70b-1024xa100.json --budget 0.001 --export " + scratch("no_plan"));
  CHECK(out.code == 2);
  CHECK(out.err.find("before any plan was looked at; give more") != std::string::npos);
  CHECK(out.err.find("nothing was exported") != std::string::npos);
  CHECK(out.out.find("stopped before any plan was looked at") != std::string::npos);
}

TEST_CASE("plan --budget: a step of very many micro-batches does not hold the search up") {
  const auto begun = std::chrono::steady_clock::now();
  const auto out = run_sgsim(kSmall + "--set plan.global_batch=100000 --json --budget 2 --what-if --rerank 1");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  REQUIRE(out.code == 0);
  const auto json = nlohmann::json::parse(out.out);
  CHECK(json["complete"] == false);
  CHECK_FALSE(json["best"].empty());
  CHECK(json["what_if"].size() == 3);
  INFO(seconds << " s");
  CHECK(seconds < 60.0);  // on a busy machine; 6 s on two quiet cores
}

TEST_CASE("plan --what-if: the best plan's nodes, and why a change cannot be made") {
  const auto one = run_sgsim(kSmall + "--json --what-if");
  REQUIRE(one.code == 0);
  const auto rows = nlohmann::json::parse(one.out)["what_if"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["not_asked"].is_null());
  CHECK(rows[1]["not_asked"] == "1 node has no half");
  CHECK(rows[2]["not_asked"] == "the best plan is on one node, which uses no NIC");
  const auto two = run_sgsim(kSmall + "--what-if --nodes 2 --json");
  REQUIRE(two.code == 0);
  const auto json = nlohmann::json::parse(two.out);
  CHECK(json["best"][0]["gpus"] == 16);
  CHECK(json["what_if"][0]["best"]["gpus"] == 16);
  CHECK(json["what_if"][1]["best"]["gpus"] == 8);
  CHECK(json["what_if"][2]["best"]["gpus"] == 16);
  CHECK(json["what_if"][0]["same_plan_step_time_s"].get<double>() == Approx(json["best"][0]["step_time_s"].get<double>()));
  CHECK(json["what_if"][2]["same_plan_step_time_s"].get<double>() >= json["best"][0]["step_time_s"].get<double>());
}

TEST_CASE("plan: a folder that cannot be exported to is refused before the search") {
  const auto out = run_sgsim("plan scenarios/llama3-70b-1024xa100.json --export README.md");
  CHECK(out.code == 3);
  CHECK(out.err.find("README.md") != std::string::npos);
  CHECK(out.err.find("families") == std::string::npos);
}

TEST_CASE("plan: what is said to be checked is what is printed") {
  const auto out = run_sgsim(kSmall + "--top 3");
  REQUIRE(out.code == 0);
  std::istringstream lines(out.out);
  std::size_t plans = 0, said = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("micro-batch ") != std::string::npos && line.find(" dp ") != std::string::npos && line.find("e.g.") == std::string::npos) ++plans;
    if (line.find("accepted by the independent checker") != std::string::npos) said = std::stoul(line);
  }
  CHECK(plans > 3);
  CHECK(said == plans);
}

TEST_CASE("plan: a job that never makes progress is refused") {
  const auto out = run_sgsim(kSmall + "--objective goodput --gpu-mtbf '1 h' --checkpoint '30 s' --restart '600 s'");
  CHECK(out.code == 2);
  CHECK(out.err.find("makes no progress") != std::string::npos);
}

TEST_CASE("plan: nothing fits, exit code 4, and says why") {
  const auto out = run_sgsim("plan scenarios/llama3-70b-1024xa100.json --set cluster.nodes=1 --set plan.global_batch=8 --memory-margin 900 --budget 60");
  CHECK(out.code == 4);
  CHECK(out.out.find("none: no plan that was looked at fits") != std::string::npos);
  CHECK(out.out.find("memory_margin") != std::string::npos);
}

TEST_CASE("plan --split: a cut for every link, and more stages than GPUs is bad input") {
  const auto four = run_sgsim(kSmall + "--split 4");
  CHECK(four.code == 0);
  CHECK(four.out.find("into 4 stages") != std::string::npos);
  const auto nine = run_sgsim(kSmall + "--split 9");
  CHECK(nine.code == 2);
  CHECK(nine.err.find("9 stages of one GPU each on 8 GPUs") != std::string::npos);
  const auto json = nlohmann::json::parse(run_sgsim(kSmall + "--split 4 --json --overlap-share 90").out);
  CHECK(json["stages"].size() == 4);
  CHECK(json["cuts"].size() == 3);
  CHECK(json["overlap_share"] == 0.9);
  for (const auto& cut : json["cuts"]) CHECK(cut["overlaps"] == (cut["share"] <= 0.9));
  CHECK(json["fsdp_units"]["units"].size() > 1);
}

TEST_CASE("plan: nonsense is refused by name") {
  for (const std::string flags : {"--budget -1", "--budget x", "--nodes 0", "--memory-margin -5", "--objective speed", "--objective cost", "--price 2", "--top 0", "--memory-margin nan", "--budget inf", "--rerank -1",
                                  "--gpu-mtbf '0 h'", "--checkpoint '-1 s'", "--restart '-1 s'"}) {
    const auto out = run_sgsim(kSmall + flags);
    INFO(flags << ": " << out.err);
    CHECK(out.code == 2);
    CHECK(out.err.find(flags.substr(0, flags.find(' '))) != std::string::npos);
    CHECK(out.err.size() < 400);
  }
}

TEST_CASE("plan --split: flags of a search are errors, and its share needs it") {
  for (const std::string& flags : {"--split 2 --what-if", "--split 2 --rerank 1", "--split 2 --export there", "--split 2 --objective memory", "--overlap-share 60"}) {
    INFO(flags);
    CHECK(run_sgsim(kSmall + flags).code == 2);
  }
}

TEST_CASE("plan: objective, currency and the checker's count are in the JSON, and the printed command has the user's settings") {
  const auto out = run_sgsim(kSmall + "--json --top 1 -j 2 --objective cost --nodes 1 --price '2.1 EUR/h'");
  INFO(out.err);
  REQUIRE(out.code == 0);
  const auto json = nlohmann::json::parse(out.out);
  CHECK(json["objective"] == "cost");
  CHECK(json["currency"] == "EUR");
  CHECK(json["checker"]["accepted"].get<int>() > 0);
  CHECK(json["asked"][0]["path"] == "model.layers");
  const auto page = run_sgsim(kSmall + "--top 1 -j 2 --price '2.1 EUR/h'");
  CHECK_THAT(page.out, Catch::Contains("EUR/Mtoken") && Catch::Contains("llama3-8b-8xh100.json --set model.layers=4 --set cluster.nodes=1"));
}
