#include <cstdint>
#include <nlohmann/json.hpp>

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
  CHECK(run_sgsim(kSmall + "--split 4 --json").code == 2);
}

TEST_CASE("plan: nonsense is refused by name") {
  for (const std::string flags : {"--budget -1", "--budget x", "--nodes 0", "--memory-margin -5", "--objective speed", "--objective cost", "--price 2", "--top 0"}) {
    const auto out = run_sgsim(kSmall + flags);
    INFO(flags << ": " << out.err);
    CHECK(out.code == 2);
    CHECK(out.err.find(flags.substr(0, flags.find(' '))) != std::string::npos);
    CHECK(out.err.size() < 400);
  }
}
