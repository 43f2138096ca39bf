// The planner's choice among plans that were measured (validation data set, published/vtrain_multi_a100.json.gz: four GPT models on 64 to 512
// A100s, vTrain, arXiv 2312.12391): how much slower it really ran than the best of them.
#include <cstdio>
#include <filesystem>

#include "planner/cli/engines.h"
#include "planner/search/estimator.h"
#include "planner/search/exact.h"
#include "planner/search/plan_words.h"
#include "sim/check/record.h"
#include "sim/check/to_scenario.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

struct Measured {
  double measured = 0.0, simulated = 0.0, estimated = 0.0;
  std::string plan;
  int gpus = 0;
  std::int64_t global_batch = 0;
};

using Groups = std::map<std::string, std::vector<Measured>>;

Groups measured_plans(const std::string& file) {
  Groups groups;
  const check::Sources sources = check::shipped_sources();
  for (const check::Record& record : check::read_records(file)) {
    const auto time = record.measured.find("step_time_s");
    const check::Question question = check::question_of(record, sources);
    if (time == record.measured.end() || !question.skipped.empty()) continue;
    const scenario::Scenario& s = question.scenario;
    scenario::InputCache cache;
    const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
    search::LayerCostTable table(problem);
    const search::Candidate candidate{.nodes = s.cluster.nodes, .plan = s.plan};
    const search::Layout layout{.nodes = s.cluster.nodes, .plan = s.plan};
    const std::vector<search::StateOption> options = {{.sharding = s.plan.sharding, .fsdp = s.plan.fsdp, .buckets = s.plan.buckets}};
    groups[record.id.substr(0, record.id.find("_tp"))].push_back(
        {time->second, search::Exact(problem, table).evaluate(candidate).step_time.value(), search::Estimator(problem, table).estimate(layout, options)[0].step_time.value(), search::short_text(candidate), s.cluster.gpus(), s.plan.global_batch});
  }
  return groups;
}

/// Measured time of what `figure` says is fastest, over the fastest.
double regret(const std::vector<Measured>& plans, double Measured::*figure) {
  const auto less = [figure](const Measured& a, const Measured& b) { return a.*figure < b.*figure; };
  const auto really = [](const Measured& a, const Measured& b) { return a.measured < b.measured; };
  return std::min_element(plans.begin(), plans.end(), less)->measured / std::min_element(plans.begin(), plans.end(), really)->measured - 1.0;
}

}  // namespace

TEST_CASE("planner: regret among measured plans") {
  const std::string file = std::string(SGSIM_SOURCE_DIR) + "/../shared/truth/published/vtrain_multi_a100.json.gz";
  if (!std::filesystem::exists(file)) {
    std::printf("SKIPPED: the validation data set is not here (%s)\n", file.c_str());
    return;
  }
  const Groups groups = measured_plans(file);
  REQUIRE(groups.size() == 4);
  double worst_estimate = 0.0;
  for (const auto& [name, plans] : groups) {
    // A choice is one among plans of the same model, machine and global batch; the micro-batch is part of the plan.
    for (const Measured& m : plans) CHECK((m.gpus == plans.front().gpus && m.global_batch == plans.front().global_batch));
    const double by_simulation = regret(plans, &Measured::simulated), by_estimate = regret(plans, &Measured::estimated);
    std::printf("%s: %zu plans, regret %.1f %% by simulation, %.1f %% by estimate\n", name.c_str(), plans.size(), 100.0 * by_simulation, 100.0 * by_estimate);
    for (const Measured& m : plans) worst_estimate = std::max(worst_estimate, std::abs(m.estimated / m.simulated - 1.0));
    // The target is 2 %. What is reached (docs/planning.md) is guarded here, so that a change for the worse is seen.
    CHECK(by_simulation <= 0.125);
  }
  std::printf("largest difference of estimate and simulation: %.1f %%\n", 100.0 * worst_estimate);
  CHECK(worst_estimate < 0.05);
}
