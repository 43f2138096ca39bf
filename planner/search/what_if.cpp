#include "planner/search/what_if.h"

#include <utility>

#include "planner/search/exact.h"
#include "sim/plan/legality.h"

namespace sgsim::search {
namespace {

struct Change {
  std::string name;
  scenario::Scenario scenario;
};

std::vector<Change> changes_of(const scenario::Scenario& base) {
  std::vector<Change> changes;
  changes.push_back({"twice the GPU memory", base});
  changes.back().scenario.cluster.node.gpu.memory = base.cluster.node.gpu.memory * 2.0;
  if (base.cluster.nodes > 1) {
    if (base.cluster.nodes % 2 == 0) {
      changes.push_back({"half of the nodes", base});
      changes.back().scenario.cluster.nodes = base.cluster.nodes / 2;
    }
    changes.push_back({"every NIC at half its rate", base});
    changes.back().scenario.cluster.node.nic.bandwidth = base.cluster.node.nic.bandwidth * 0.5;
  }
  return changes;
}

/// The plan on a changed machine; with fewer nodes it has fewer data-parallel replicas.
std::optional<Figures> kept(const Problem& problem, double margin, Candidate candidate) {
  const int before = candidate.nodes;
  candidate.nodes = problem.scenario.cluster.nodes;
  if (candidate.plan.dp * candidate.nodes % before != 0) return std::nullopt;
  candidate.plan.dp = candidate.plan.dp * candidate.nodes / before;
  if (!plan::check_plan(problem.cache.load(problem.scenario).shape, candidate.plan, problem.scenario.cluster).empty()) return std::nullopt;
  LayerCostTable table(problem);
  const Figures figures = Exact(problem, table).evaluate(candidate);
  const MemoryRule rule{.capacity = problem.scenario.cluster.node.gpu.memory, .margin = margin};
  return rule.fits(figures) ? std::optional(figures) : std::nullopt;
}

}  // namespace

std::vector<WhatIf> what_if(const Problem& problem, const Axes& axes, const SearchOptions& options, const Candidate& before) {
  std::vector<WhatIf> answers;
  for (const Change& change : changes_of(problem.scenario)) {
    if (options.cancelled()) break;
    const Problem changed{.scenario = change.scenario, .cache = problem.cache, .engine = problem.engine};
    Axes tried = axes;
    tried.nodes = {change.scenario.cluster.nodes};
    SearchResult result = search(changed, tried, options);
    WhatIf answer{.change = change.name, .best = {}, .same = kept(changed, options.memory_margin, before)};
    if (!result.ranked.empty()) answer.best = std::move(result.ranked.front());
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace sgsim::search
