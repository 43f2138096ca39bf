// Every plan that would be printed, over random jobs, is accepted by the checker, which shares no code with the search.
#include <fmt/format.h>

#include <random>

#include "planner/cli/engines.h"
#include "planner/cli/plan_claims.h"
#include "planner/search/report.h"
#include "planner/search/search.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

TEST_CASE("plan: the independent checker accepts every printed plan of random jobs") {
  std::mt19937_64 random(20261130);
  const auto pick = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  std::size_t printed = 0, jobs = 0;
  for (int job = 0; job < 12; ++job) {
    const std::string model = pick("llama3-8b", "gpt2-350m", "mixtral-8x7b");
    const std::string text = fmt::format(R"({{"schema_version": 1, "model": {{"config": "models/{}.json", "sequence": {}, "layers": {}}},
      "plan": {{"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": {}}}, "cluster": {{"builtin": "{}", "nodes": {}}}}})",
                                         model, pick(512, 1024), pick(4, 6), pick(32, 48, 64), pick("dgx-h100", "dgx-a100-80gb"), pick(1, 2));
    const scenario::Scenario s = scenario::scenario_from_text(text, "random", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
    scenario::InputCache cache;
    const scenario::Inputs inputs = cache.load(s);
    const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
    search::Axes axes = search::default_axes(inputs.shape, s.cluster, s.plan, {s.cluster.nodes}, 0);
    axes.micro_batch = {1, 4};
    axes.tp = {1, pick(2, 4, 8)};
    axes.cp = {1, 2};
    axes.virtual_stages = {2};
    axes.fsdp_layers_per_unit = {1};
    search::SearchOptions options;
    options.objective = job % 3 == 0 ? search::Objective::memory : search::Objective::time;
    options.memory_margin = pick(0.0, 0.1, 0.5);
    options.most_exact = 40;
    const search::SearchResult result = search::search(problem, axes, options);
    CAPTURE(text);
    REQUIRE_FALSE(result.ranked.empty());
    const std::size_t accepted = cli::check_claims(s, inputs, result, options.memory_margin, result.ranked.size());  // throws when one is refused
    CHECK(accepted == result.ranked.size() + result.front.size() + (search::runner_up(result) != nullptr ? 1 : 0));
    printed += accepted;
    ++jobs;
  }
  INFO(printed << " plans of " << jobs << " jobs");
  CHECK(printed > 200);
}
