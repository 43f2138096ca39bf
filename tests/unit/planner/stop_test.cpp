// A search that is stopped while a long step is lowered or simulated gives it up at once.
#include <chrono>

#include "planner/cli/engines.h"
#include "planner/search/exact.h"
#include "sim/core/stop.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

double seconds_since(std::chrono::steady_clock::time_point from) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count(); }

}  // namespace

TEST_CASE("stop: without a scope nothing is asked, an inner scope takes the outer's place") {
  CHECK_NOTHROW(stop_if_asked());
  const StopScope outer([] { return true; });
  CHECK_THROWS_AS(stop_if_asked(), Stopped);
  {
    const StopScope inner([] { return false; });
    CHECK_NOTHROW(stop_if_asked());
  }
  CHECK_THROWS_AS(stop_if_asked(), Stopped);
}

// 6,250 micro-batches of 32 layers, whose simulation takes seconds.
TEST_CASE("stop: a simulation is given up while it is lowered and while it runs, and leaves nothing behind") {
  const scenario::Scenario s = scenario::scenario_from_text(R"({
    "schema_version": 1, "model": {"config": "models/llama3-8b.json", "sequence": 1024},
    "plan": {"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": 50000},
    "cluster": {"builtin": "dgx-h100", "nodes": 1}})", "long", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
  scenario::InputCache cache;
  const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
  search::LayerCostTable table(problem);
  search::Exact exact(problem, table);
  search::Candidate candidate{.nodes = 1, .plan = s.plan};
  (void)table.get(candidate);
  for (const double after : {0.02, 0.2, 0.6}) {
    const auto begun = std::chrono::steady_clock::now();
    const StopScope scope([&] { return seconds_since(begun) > after; });
    CHECK_THROWS_AS(exact.evaluate(candidate), Stopped);
    CHECK(seconds_since(begun) < after + 2.0);  // on a machine that does much else; alone some tenths
  }
  candidate.plan.global_batch = 8;
  CHECK(exact.evaluate(candidate).step_time > Seconds());
}
