#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "planner/cli/engines.h"
#include "planner/search/estimator.h"
#include "planner/search/exact.h"
#include "planner/search/parallel.h"
#include "planner/search/plan_words.h"
#include "planner/search/search.h"
#include "sim/plan/legality.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

// Eight layers of LLaMA-3-8B on two DGX H100: small enough to simulate every plan of a reduced space.
scenario::Scenario small_job() {
  return scenario::scenario_from_text(R"({
    "schema_version": 1, "model": {"config": "models/llama3-8b.json", "sequence": 2048, "layers": 8},
    "plan": {"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": 64},
    "cluster": {"builtin": "dgx-h100", "nodes": 2}})", "small", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
}

search::Axes small_axes(const scenario::Scenario& s, const plan::ModelShape& shape) {
  search::Axes axes = search::default_axes(shape, s.cluster, s.plan, {2}, 0);
  axes.tp = {1, 8};
  axes.pp = {1, 2, 4};
  axes.cp = {1, 2};
  axes.micro_batch = {1, 4};
  axes.virtual_stages = {2};
  axes.recompute = {plan::Recompute::none, plan::Recompute::full};
  axes.fsdp_prefetch = {1};
  axes.fsdp_layers_per_unit = {1};
  axes.buckets = {Bytes(100.0 * 1048576.0)};
  axes.offload_optimizer = axes.offload_activations = false;
  return axes;
}

search::MemoryRule rule(const scenario::Scenario& s) { return {.capacity = s.cluster.node.gpu.memory, .margin = search::SearchOptions{}.memory_margin}; }

/// Every plan of a space, with every number of recomputed layers and all that may be offloaded.
std::vector<search::Candidate> every_candidate(const search::Axes& axes, const search::Space& space, const scenario::Scenario& s, std::int64_t layers) {
  std::vector<search::Candidate> all;
  for (const search::Family& family : space.families) {
    for (const search::Layout& layout : family) {
      for (const search::StateOption& option : search::state_options(axes, layout, search::resized(s.cluster, layout.nodes))) {
        search::Candidate c = search::candidate_of(layout, option);
        if (layout.plan.recompute_layers > 0) {
          for (int n = 1; n < layers / (layout.plan.pp * layout.plan.virtual_stages); ++n) {
            c.plan.recompute_layers = n;
            all.push_back(c);
          }
          continue;
        }
        all.push_back(c);
        if (!search::offloads_activations(axes, layout)) continue;
        c.plan.offload.activations = true;
        all.push_back(c);
      }
    }
  }
  return all;
}

struct Setup {
  scenario::Scenario s = small_job();
  scenario::InputCache cache;
  search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
  plan::ModelShape shape = cache.load(s).shape;
  search::Axes axes = small_axes(s, shape);
};

}  // namespace

TEST_CASE("search: every listed plan is legal, none twice, and the counts add up") {
  Setup t;
  const search::Axes axes = search::default_axes(t.shape, t.s.cluster, t.s.plan, {1, 2}, 0);
  CHECK(axes.some_recomputed);
  const search::Space space = search::enumerate(axes, t.shape, t.s.cluster, t.s.plan);
  std::uint64_t plans = 0, rejected = 0;
  std::set<std::string> seen;
  for (const search::Family& family : space.families) {
    for (const search::Layout& layout : family) {
      const cluster::Cluster cluster = search::resized(t.s.cluster, layout.nodes);
      const auto options = search::state_options(axes, layout, cluster);
      plans += search::plans_of(axes, layout, cluster);
      CHECK(search::plans_of(axes, layout, cluster) % options.size() == 0);
      for (std::size_t o = 0; o < options.size(); o += 7) CHECK(plan::check_plan(t.shape, search::candidate_of(layout, options[o]).plan, cluster).empty());
    }
  }
  for (const auto& [rule, r] : space.rejections) {
    rejected += r.plans;
    CHECK_FALSE(r.example.empty());
  }
  CHECK(plans == space.plans);
  CHECK(space.considered == plans + rejected);
  CHECK(space.rejections.contains("tp_divides_kv_heads"));
}

TEST_CASE("search: the best plan is within 1 % of the best of all simulated plans") {
  Setup t;
  const search::Space space = search::enumerate(t.axes, t.shape, t.s.cluster, t.s.plan);
  search::LayerCostTable table(t.problem);
  search::Exact exact(t.problem, table);
  double best = std::numeric_limits<double>::infinity();
  int plans = 0;
  for (const search::Candidate& c : every_candidate(t.axes, space, t.s, t.shape.layers)) {
    const search::Figures f = exact.evaluate(c);
    ++plans;
    if (rule(t.s).fits(f)) best = std::min(best, f.step_time.value());
  }
  const search::SearchResult result = search::search(t.problem, t.axes, {});
  REQUIRE_FALSE(result.ranked.empty());
  INFO(plans << " plans, " << result.simulated << " simulated by the search");
  CHECK(result.ranked.front().exact->step_time.value() <= 1.01 * best);
  CHECK(result.simulated < static_cast<std::uint64_t>(plans));
}

// A GPU with as much memory as a few plans need: recomputation in some layers, or offload, is what remains.
TEST_CASE("search: with little memory the best plan is still within 1 % of all simulated ones") {
  for (const double gigabytes : {14.0, 9.0}) {
    Setup t;
    t.s.cluster.node.gpu.memory = Bytes(gigabytes * 1e9);
    t.axes.tp = {1, 8};
    t.axes.pp = {1, 2};
    t.axes.cp = {1};
    t.axes.micro_batch = {1};
    t.axes.schedule = {plan::Schedule::one_f_one_b, plan::Schedule::zero_bubble};
    t.axes.sharding = {plan::Sharding::zero1, plan::Sharding::fsdp};
    t.axes.offload_optimizer = t.axes.offload_activations = true;
    const search::Space space = search::enumerate(t.axes, t.shape, t.s.cluster, t.s.plan);
    search::LayerCostTable table(t.problem);
    search::Exact exact(t.problem, table);
    double best = std::numeric_limits<double>::infinity();
    int plans = 0, fitting = 0;
    for (const search::Candidate& c : every_candidate(t.axes, space, t.s, t.shape.layers)) {
      const search::Figures f = exact.evaluate(c);
      ++plans;
      if (!rule(t.s).fits(f)) continue;
      ++fitting;
      best = std::min(best, f.step_time.value());
    }
    const search::SearchResult result = search::search(t.problem, t.axes, {});
    CAPTURE(gigabytes, plans, fitting);
    CHECK(fitting < plans);
    REQUIRE(result.ranked.empty() == (fitting == 0));
    if (fitting > 0) CHECK(result.ranked.front().exact->step_time.value() <= 1.01 * best);
  }
}

TEST_CASE("search: the same answer with one and several threads") {
  Setup t;
  search::SearchOptions options;
  const search::SearchResult one = search::search(t.problem, t.axes, options);
  options.threads = 3;
  const search::SearchResult three = search::search(t.problem, t.axes, options);
  REQUIRE(one.ranked.size() == three.ranked.size());
  for (std::size_t i = 0; i < one.ranked.size(); ++i) {
    CHECK(one.ranked[i].candidate == three.ranked[i].candidate);
    CHECK(one.ranked[i].figures() == three.ranked[i].figures());
  }
  CHECK(one.rejections == three.rejections);
  CHECK(one.front.size() == three.front.size());
}

TEST_CASE("search: stages balanced by cost are no slower, and hold every layer") {
  Setup t;
  search::LayerCostTable table(t.problem);
  search::Exact exact(t.problem, table);
  search::Estimator estimator(t.problem, table);
  int balanced = 0;
  for (const search::Family& family : search::enumerate(t.axes, t.shape, t.s.cluster, t.s.plan).families) {
    search::Layout layout = family.front();
    if (layout.plan.pp == 1 || layout.plan.recompute_layers > 0) continue;
    const std::vector<int> layers = estimator.balanced_layers(layout);
    if (layers.empty()) continue;
    CAPTURE(layout.plan.pp, layout.plan.tp, static_cast<int>(layout.plan.schedule));
    CHECK(std::accumulate(layers.begin(), layers.end(), 0) == t.shape.layers);
    const search::StateOption option = search::state_options(t.axes, layout, t.s.cluster).front();
    const search::Figures even = exact.evaluate(search::candidate_of(layout, option));
    layout.plan.stage_layers = layers;
    CHECK(plan::check_plan(t.shape, search::candidate_of(layout, option).plan, t.s.cluster).empty());
    if (layout.plan.virtual_stages > 1) continue;  // chunks of a stage then differ, which the interleaved order does not like
    CHECK(exact.evaluate(search::candidate_of(layout, option)).step_time.value() <= even.step_time.value() * 1.005);
    ++balanced;
  }
  CHECK(balanced > 0);
}

TEST_CASE("search: no estimate is below its bound, and some bounds are close") {
  Setup t;
  search::LayerCostTable table(t.problem);
  search::Estimator estimator(t.problem, table);
  int close = 0, plans = 0;
  for (const search::Family& family : search::enumerate(t.axes, t.shape, t.s.cluster, t.s.plan).families) {
    const auto options = search::state_options(t.axes, family.front(), t.s.cluster);
    const auto bounds = estimator.bounds(family.front(), options);
    const auto times = estimator.step_times(family.front(), options);
    for (std::size_t o = 0; o < options.size(); ++o) {
      CHECK(bounds[o].step_time.value() > 0.0);
      CHECK(bounds[o].step_time <= times[o]);
      close += bounds[o].step_time.value() > 0.8 * times[o].value() ? 1 : 0;
      ++plans;
    }
  }
  INFO(close << " of " << plans);
  CHECK(close > 20);
}

TEST_CASE("search: a margin drops plans that only just fit, and counts them") {
  Setup t;
  t.s.cluster.node.gpu.memory = Bytes(24e9);
  search::SearchOptions options;
  options.memory_margin = 0.0;
  const search::SearchResult without = search::search(t.problem, t.axes, options);
  options.memory_margin = 0.3;
  const search::SearchResult with = search::search(t.problem, t.axes, options);
  CHECK_FALSE(without.rejections.contains("memory_margin"));
  CHECK(with.rejections.at("memory_margin").plans > 0);
  CHECK(with.fitting < without.fitting);
  for (const search::Found& f : with.ranked) CHECK(f.exact->needed.value() * 1.3 <= 24e9 * (1.0 + 1e-12));
}

TEST_CASE("search: stopped at once it has simulated plans all the same") {
  Setup t;
  search::SearchOptions options;
  options.cancelled = [asked = 0]() mutable { return ++asked > 40; };
  const search::SearchResult result = search::search(t.problem, t.axes, options);
  CHECK_FALSE(result.complete);
  REQUIRE_FALSE(result.ranked.empty());
  CHECK(result.ranked.front().exact);
  for (const search::Found& f : result.front) CHECK(f.timed);
}

TEST_CASE("search: of a stopped search no long step is simulated; estimates are ranked, and say so") {
  Setup t;
  t.s.plan.global_batch = 1 << 20;  // 16 GPUs: at least 16,384 micro-batches of eight layers
  search::SearchOptions options;
  options.cancelled = [asked = 0]() mutable { return ++asked > 40; };
  const search::SearchResult result = search::search(t.problem, t.axes, options);
  CHECK_FALSE(result.complete);
  CHECK(result.simulated == 0);
  REQUIRE_FALSE(result.ranked.empty());
  for (const search::Found& f : result.ranked) CHECK((f.timed && !f.exact));
  CHECK(std::is_sorted(result.ranked.begin(), result.ranked.end(), [](const auto& a, const auto& b) { return a.score < b.score; }));
}

TEST_CASE("search: steps too long to simulate are ranked by their estimate, and counted") {
  Setup t;
  t.s.plan.global_batch = 1 << 20;  // at least 16,384 x 8 = 131,072
  const search::SearchResult result = search::search(t.problem, t.axes, {});
  CHECK(result.complete);
  CHECK(result.simulated == 0);
  CHECK(result.too_long > 0);
  REQUIRE_FALSE(result.ranked.empty());
  for (const search::Found& f : result.ranked) CHECK((f.timed && !f.exact));
  for (const search::Found& f : result.front) CHECK(f.figures().step_time >= result.ranked.front().figures().step_time);
}

TEST_CASE("search: cancelled at once it still comes back, and says that it is not complete") {
  Setup t;
  int asked = 0;
  search::SearchOptions options;
  options.cancelled = [&] { return ++asked > 3; };
  const search::SearchResult result = search::search(t.problem, t.axes, options);
  CHECK_FALSE(result.complete);
  CHECK(result.estimated < result.legal);
}

TEST_CASE("search: least memory is another plan than least time") {
  Setup t;
  search::SearchOptions options;
  options.objective = search::Objective::memory;
  const search::SearchResult memory = search::search(t.problem, t.axes, options);
  const search::SearchResult time = search::search(t.problem, t.axes, {});
  REQUIRE_FALSE(memory.ranked.empty());
  CHECK(memory.ranked.front().exact->needed < time.ranked.front().exact->needed);
  CHECK(memory.ranked.front().exact->step_time > time.ranked.front().exact->step_time);
}

TEST_CASE("search: estimates are close to simulation on plans of every kind") {
  Setup t;
  const search::Space space = search::enumerate(t.axes, t.shape, t.s.cluster, t.s.plan);
  search::LayerCostTable table(t.problem);
  search::Exact exact(t.problem, table);
  search::Estimator estimator(t.problem, table);
  std::vector<double> time, memory;
  std::multimap<double, std::string> apart;  // by estimate / simulated
  for (std::size_t i = 0; i < space.families.size(); i += 3) {
    const search::Layout& layout = space.families[i].front();  // recompute_layers 1 as it stands
    const auto options = search::state_options(t.axes, layout, t.s.cluster);
    const auto estimates = estimator.estimate(layout, options);
    for (std::size_t o = 0; o < options.size(); ++o) {
      const search::Figures f = exact.evaluate(search::candidate_of(layout, options[o]));
      time.push_back(std::abs(estimates[o].step_time / f.step_time - 1.0));
      apart.emplace(estimates[o].step_time / f.step_time, search::short_text(search::candidate_of(layout, options[o])));
      memory.push_back(std::abs(estimates[o].needed / f.needed - 1.0));
      CHECK(f.needed <= f.reserved);
      CHECK(estimates[o].needed <= estimates[o].reserved);
    }
  }
  std::sort(time.begin(), time.end());
  std::sort(memory.begin(), memory.end());
  INFO(time.size() << " plans; median errors " << time[time.size() / 2] << ", " << memory[memory.size() / 2] << "; worst " << time.back() << ", " << memory.back() << "\nlowest " << apart.begin()->first << ": " << apart.begin()->second << "\nhighest " << apart.rbegin()->first << ": " << apart.rbegin()->second);
  CHECK(time[time.size() / 2] < 0.02);
  CHECK(memory[memory.size() / 2] < 0.03);
}

// Launching takes most of such a step: FSDP's hooks dispatch some 500 calls a unit of four layers.
TEST_CASE("search: estimates of FSDP are close where the host binds the step") {
  for (const char* execution : {"eager", "compiled"}) {
    const scenario::Scenario s = scenario::scenario_from_text(fmt::format(R"({{
      "schema_version": 1, "model": {{"config": "models/bert-large.json", "sequence": 128}}, "training": {{"execution": "{}"}},
      "plan": {{"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": 16}},
      "cluster": {{"builtin": "dgx-h100", "nodes": 1}}}})", execution), "small", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
    scenario::InputCache cache;
    const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
    search::LayerCostTable table(problem);
    search::Estimator estimator(problem, table);
    search::Exact exact(problem, table);
    for (const plan::Recompute recompute : {plan::Recompute::none, plan::Recompute::full}) {
      for (const int layers : {1, 2, 4}) {
        search::Candidate c{.nodes = 1, .plan = s.plan};
        c.plan.recompute = recompute;
        c.plan.fsdp.layers_per_unit = layers;
        const search::StateOption option = search::option_of(c);
        const double estimated = estimator.step_times(search::layout_of(c), {&option, 1})[0].value(), simulated = exact.evaluate(c).step_time.value();
        INFO(execution << ", units of " << layers << ": " << estimated << " for " << simulated);
        CHECK(std::abs(estimated / simulated - 1.0) < 0.03);
      }
    }
  }
}

// Minutes: every legal plan of the main job is estimated, memory and time, none left out by a bound or because a smaller micro-batch did not fit.
TEST_CASE("search: the main job's best plan against all estimates", "[.exhaustive]") {
  const scenario::Scenario s = scenario::read_scenario(std::string(SGSIM_SOURCE_DIR) + "/scenarios/llama3-70b-1024xa100.json");
  scenario::InputCache cache;
  const search::Problem problem{.scenario = s, .cache = cache, .engine = cli::run_engine};
  const scenario::Inputs inputs = cache.load(s);
  const search::Axes axes = search::default_axes(inputs.shape, s.cluster, s.plan, {s.cluster.nodes}, 0);
  const search::Space space = search::enumerate(axes, inputs.shape, s.cluster, s.plan, inputs.graph.get());
  search::LayerCostTable table(problem);
  const unsigned threads = 2;
  std::vector<std::unique_ptr<search::Estimator>> estimators;
  for (unsigned t = 0; t < threads; ++t) estimators.push_back(std::make_unique<search::Estimator>(problem, table));
  std::vector<double> best(threads, std::numeric_limits<double>::infinity());
  std::vector<std::uint64_t> fitting(threads, 0), looked(threads, 0);
  const auto look = [&](unsigned t, const search::Layout& layout, const std::vector<search::StateOption>& options) {
    std::vector<search::StateOption> fit;
    const auto bounds = estimators[t]->bounds(layout, options);
    for (std::size_t o = 0; o < options.size(); ++o) {
      if (rule(s).fits(bounds[o])) fit.push_back(options[o]);
    }
    looked[t] += options.size();
    fitting[t] += fit.size();
    for (const Seconds time : estimators[t]->step_times(layout, fit)) best[t] = std::min(best[t], time.value());
  };
  const auto every = [&](unsigned t, const search::Layout& layout, const std::vector<search::StateOption>& options) {
    if (layout.plan.recompute_layers == 0) return look(t, layout, options);
    const auto answers = estimators[t]->fewest_recomputed(layout, options, rule(s).limit());
    for (std::size_t o = 0; o < options.size(); ++o) {
      if (answers[o].layers == 0 || answers[o].layers >= answers[o].all) continue;
      search::Layout some = layout;
      some.plan.recompute_layers = answers[o].layers;
      look(t, some, {options[o]});
    }
  };
  search::parallel(threads, space.families.size(), [] { return false; }, [&](unsigned t, std::size_t i) {
    for (const search::Layout& layout : space.families[i]) {
      const auto options = search::state_options(axes, layout, s.cluster);
      every(t, layout, options);
      search::Layout other = layout;
      other.plan.offload.activations = true;
      if (search::offloads_activations(axes, layout)) look(t, other, options);
      other = layout;
      if (search::balances_stages(axes, layout)) other.plan.stage_layers = estimators[t]->balanced_layers(layout);
      if (!other.plan.stage_layers.empty()) every(t, other, options);
    }
  });
  const search::SearchResult found = search::search(problem, axes, {.threads = threads});
  REQUIRE_FALSE(found.ranked.empty());
  const double least = *std::min_element(best.begin(), best.end());
  std::printf("%llu plans estimated, %llu fit; least estimate %.4f s; the search's best: estimate %.4f s, simulated %.4f s\n", static_cast<unsigned long long>(looked[0] + looked[1]),
              static_cast<unsigned long long>(fitting[0] + fitting[1]), least, found.ranked.front().estimate.step_time.value(), found.ranked.front().exact->step_time.value());
  CHECK(found.ranked.front().exact->step_time.value() <= 1.01 * least);
}
