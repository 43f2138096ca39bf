#include "planner/search/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "planner/search/exact.h"
#include "sim/core/stop.h"
#include "sim/plan/legality.h"

namespace sgsim::search {
namespace {

using Clock = std::chrono::steady_clock;

struct Change {
  std::string name;
  std::string not_asked;      // why it cannot be made
  scenario::Scenario scenario;
  std::vector<int> nodes;     // that the search tries
  int nodes_of_same = 1;      // that the plan from before gets
};

std::vector<Change> changes_of(const scenario::Scenario& base, const Axes& axes, int nodes) {
  std::vector<Change> changes(3, Change{.name = "", .not_asked = "", .scenario = base, .nodes = axes.nodes, .nodes_of_same = nodes});
  changes[0].name = "twice the GPU memory";
  changes[0].scenario.cluster.node.gpu.memory = base.cluster.node.gpu.memory * 2.0;
  changes[1].name = "half of the nodes";
  if (nodes % 2 != 0) changes[1].not_asked = fmt::format("{} node{} no half", nodes, nodes == 1 ? " has" : "s have");
  changes[1].nodes = {nodes / 2};
  changes[1].nodes_of_same = nodes / 2;
  changes[2].name = "every NIC at half its rate";
  if (nodes == 1) changes[2].not_asked = "the best plan is on one node, which uses no NIC";
  changes[2].scenario.cluster.node.nic.bandwidth = base.cluster.node.nic.bandwidth * 0.5;
  return changes;
}

/// The plan on a changed machine; with fewer nodes it has fewer data-parallel replicas.
void keep(const Problem& problem, double margin, const std::function<bool()>& stop, Candidate candidate, int nodes, WhatIf& answer) {
  answer.why_not_same = "not legal";
  const int before = std::exchange(candidate.nodes, nodes);
  if (candidate.plan.dp * nodes % before != 0) return;
  candidate.plan.dp = candidate.plan.dp * nodes / before;
  const plan::ModelShape shape = problem.cache.load(problem.scenario).shape;
  if (const auto broken = plan::check_plan(shape, candidate.plan, resized(problem.scenario.cluster, nodes)); !broken.empty()) {
    answer.why_not_same += ": " + broken.front().rule;
    return;
  }
  if (exact_work(candidate, shape.layers) > kMostWork) {
    answer.why_not_same = "too long to simulate";
    return;
  }
  LayerCostTable table(problem);
  Figures figures;
  const StopScope scope(stop);
  try {
    stop_if_asked();
    figures = Exact(problem, table).evaluate(candidate);
  } catch (const Stopped&) {
    answer.why_not_same = "no time left";
    return;
  }
  const MemoryRule rule{.capacity = problem.scenario.cluster.node.gpu.memory, .margin = margin};
  if (!rule.fits(figures)) {
    answer.why_not_same = "does not fit";
    return;
  }
  answer.same = figures;
  answer.why_not_same.clear();
}

}  // namespace

std::vector<WhatIf> what_if(const Problem& problem, const Axes& axes, const SearchOptions& options, const Candidate& before) {
  const Clock::time_point started = Clock::now();
  const auto left = [&] { return options.budget - std::chrono::duration<double>(Clock::now() - started).count(); };
  const bool limited = options.budget > 0.0;
  const std::vector<Change> changes = changes_of(problem.scenario, axes, before.nodes);
  auto to_ask = std::count_if(changes.begin(), changes.end(), [](const Change& c) { return c.not_asked.empty(); });
  std::vector<WhatIf> answers;
  for (const Change& change : changes) {
    WhatIf answer;
    answer.change = change.name;
    answer.not_asked = change.not_asked;
    answer.gpu_memory = change.scenario.cluster.node.gpu.memory;
    if (answer.not_asked.empty() && options.cancelled()) answer.not_asked = "stopped before";
    if (answer.not_asked.empty() && limited && left() <= 0.0) answer.not_asked = "no time left";
    if (answer.not_asked.empty()) {
      const Problem changed{.scenario = change.scenario, .cache = problem.cache, .engine = problem.engine};
      Axes tried = axes;
      tried.nodes = change.nodes;
      SearchOptions limits = options;
      if (limited) limits.budget = std::max(1e-9, left() / static_cast<double>(to_ask--));  // 0 would be no limit
      SearchResult result = search(changed, tried, limits);
      answer.complete = result.complete;
      if (!result.ranked.empty()) answer.best = std::move(result.ranked.front());
      keep(changed, options.memory_margin, [&] { return options.cancelled() || (limited && left() <= 0.0); }, before, change.nodes_of_same, answer);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace sgsim::search
