#include "gui/session/search_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "planner/cli/engines.h"
#include "planner/search/plan_words.h"
#include "planner/search/search.h"
#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/scenario/read.h"
#include "sim/scenario/text_table.h"

namespace sgsim::gui {
namespace {

search::Objective objective_of(const std::string& word) {
  if (word == "cost") return search::Objective::cost;
  if (word == "goodput") return search::Objective::goodput;
  return word == "memory" ? search::Objective::memory : search::Objective::time;
}

FoundPlan plan_of(const search::Found& found, const scenario::Scenario& s, const search::Economics& economics) {
  FoundPlan plan;
  plan.plan = search::short_text(found.candidate);
  plan.settings = search::settings_of(found.candidate);
  plan.gpus = found.candidate.nodes * s.cluster.node.gpus;
  plan.step_time = found.figures().step_time.value();
  plan.memory = found.figures().reserved.value();
  plan.headroom = s.cluster.node.gpu.memory.value() - found.figures().needed.value();  // what the allocator holds unused it gives back
  plan.batch = static_cast<double>(found.candidate.plan.global_batch);
  plan.useful = search::useful_share(economics, plan.gpus).value_or(-1.0);
  plan.simulated = found.exact.has_value();
  plan.bound = !found.exact && !found.timed;
  return plan;
}

}  // namespace

FoundPlans searchPlans(const SearchRequest& request, scenario::InputCache& cache, JobControl& control) {
  const scenario::Scenario s = scenario::scenario_from_text(request.text, request.name, request.folder);
  const scenario::Inputs inputs = cache.load(s);
  search::SearchOptions options;
  options.objective = objective_of(request.objective);
  if (request.price > 0.0) options.economics.price = request.price;
  if (options.objective == search::Objective::cost && request.price <= 0.0) {
    throw InputError({.file = "objective cost", .where = "", .found = "no price", .expected = "the price of one GPU and hour", .hint = "No price is assumed"});
  }
  if (request.mtbf > 0.0) options.economics.gpu_mtbf = Seconds(request.mtbf);
  if (request.checkpoint >= 0.0) options.economics.checkpoint = Seconds(request.checkpoint);
  if (request.restart >= 0.0) options.economics.restart = Seconds(request.restart);
  if (options.objective == search::Objective::goodput && !search::useful_share(options.economics, 1)) {
    throw InputError({.file = "objective goodput", .where = "", .found = "no time between failures", .expected = "the mean time between failures of one GPU, and what a checkpoint and a restart take", .hint = "None of them is assumed"});
  }
  options.budget = request.budget;
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  options.cancelled = [&control] { return control.stopping(); };
  options.progress = [&control](const search::SearchProgress& p) {
    control.progress(static_cast<double>(p.done), static_cast<double>(p.total), fmt::format("{} {} of {}{}", p.phase, scenario::grouped(static_cast<std::int64_t>(p.done)), scenario::grouped(static_cast<std::int64_t>(p.total)), p.best ? ", best " + to_text(p.best->step_time) : ""));
  };
  const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
  const std::int64_t fixed = s.model.kind == scenario::ModelKind::graph ? inputs.graph->micro_batch : 0;
  const search::Axes axes = search::default_axes(inputs.shape, s.cluster, s.plan, request.nodes.empty() ? std::vector<int>{s.cluster.nodes} : request.nodes, fixed);
  const search::SearchResult result = search::search(problem, axes, options);
  FoundPlans plans;
  for (const search::Found& f : result.ranked) plans.plans.push_back(plan_of(f, s, options.economics));
  for (const search::Found& f : result.front) {
    const bool listed = std::any_of(result.ranked.begin(), result.ranked.end(), [&f](const search::Found& g) { return f.candidate == g.candidate; });
    if (!listed) plans.plans.push_back(plan_of(f, s, options.economics));
  }
  for (const auto& [rule, rejection] : result.rejections) plans.fell_out.push_back({rule, rejection.example, rejection.plans});
  std::stable_sort(plans.fell_out.begin(), plans.fell_out.end(), [](const auto& a, const auto& b) { return a.plans > b.plans; });
  plans.considered = result.considered;
  plans.legal = result.legal;
  plans.simulated = result.simulated;
  plans.complete = result.complete;
  plans.seconds = result.enumerate_s + result.estimate_s + result.exact_s;
  return plans;
}

}  // namespace sgsim::gui
