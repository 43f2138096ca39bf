#include "planner/search/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/search/axes.h"
#include "sim/lower/binding/layout.h"
#include "sim/lower/lower_segmented.h"
#include "sim/lower/program/stack_costs.h"

namespace sgsim::search {
namespace {

int size_of(const plan::Plan& p, Dimension d) {
  switch (d) {
    case Dimension::tensor: return p.tp;
    case Dimension::context: return p.cp;
    case Dimension::data: return p.dp;
    case Dimension::pipeline: return p.pp;
  }
  return 1;
}

int coordinate(const lower::Coordinates& at, Dimension d) {
  switch (d) {
    case Dimension::tensor: return at.tp;
    case Dimension::context: return at.cp;
    case Dimension::data: return at.dp;
    case Dimension::pipeline: return at.pp;
  }
  return 0;
}

std::string word(Dimension d) {
  switch (d) {
    case Dimension::tensor: return "tp";
    case Dimension::context: return "cp";
    case Dimension::data: return "dp";
    case Dimension::pipeline: return "pp";
  }
  return "";
}

/// The dimensions larger than one, in order: orders that agree here place alike.
std::vector<Dimension> essential(const plan::Plan& plan, const RankOrder& order) {
  std::vector<Dimension> dimensions;
  for (const Dimension d : order) {
    if (size_of(plan, d) > 1) dimensions.push_back(d);
  }
  return dimensions;
}

cluster::GroupShape shape_on(const cluster::Cluster& cluster, const std::vector<GpuId>& placement, std::span<const GpuId> members, int gpus) {
  std::vector<GpuId> placed;
  std::map<int, int> on_node;
  for (const GpuId member : members) {
    placed.push_back(placement[member.value]);
    ++on_node[cluster.node_of(placed.back())];
  }
  int fewest = gpus;
  for (const auto& [node, count] : on_node) fewest = std::min(fewest, count);
  const double groups = on_node.size() > 1 ? std::max(1.0, static_cast<double>(std::min(gpus, cluster.node.gpus)) / fewest) : 1.0;
  return cluster::group_shape(cluster, placed, groups);
}

}  // namespace

std::vector<GpuId> placement_of(const plan::Plan& plan, const RankOrder& order) {
  std::vector<GpuId> placement;
  for (int r = 0; r < plan.world(); ++r) {
    const lower::Coordinates at = lower::coordinates_of(plan, RankId{static_cast<std::uint32_t>(r)});
    int gpu = 0, stride = 1;
    for (const Dimension d : order) {
      gpu += coordinate(at, d) * stride;
      stride *= size_of(plan, d);
    }
    placement.push_back(GpuId{static_cast<std::uint32_t>(gpu)});
  }
  return placement;
}

std::string order_text(const plan::Plan& plan, const RankOrder& order) {
  std::string text;
  for (const Dimension d : essential(plan, order)) text += (text.empty() ? "" : ", ") + word(d);
  return text;
}

std::string gpu_text(const plan::Plan& plan, const RankOrder& order) {
  std::string text;
  int stride = 1;
  for (const Dimension d : essential(plan, order)) {
    text += (text.empty() ? "" : " + ") + (stride > 1 ? std::to_string(stride) + " " : "") + word(d);
    stride *= size_of(plan, d);
  }
  return text.empty() ? "0" : text;
}

std::vector<PlacementTime> placement_times(const Problem& problem, LayerCostTable& table, const Candidate& candidate) {
  const auto layers = table.get(candidate);
  const cluster::Cluster cluster = resized(problem.scenario.cluster, candidate.nodes);
  const scenario::Inputs inputs = problem.cache.load(problem.scenario);
  Diagnostics diagnostics;
  lower::TaskCosts costs = lower::training_costs(*inputs.profile, problem.scenario.training, diagnostics);
  costs.wrapper = lower::tensor_wrapper(*inputs.profile, candidate.plan, problem.scenario.training);
  std::vector<PlacementTime> times;
  std::set<std::vector<Dimension>> seen;
  RankOrder order = kUsualOrder;
  do {
    if (!seen.insert(essential(candidate.plan, order)).second) continue;
    const std::vector<GpuId> placement = placement_of(candidate.plan, order);
    const lower::ShapeOf shape_of = [&](std::span<const GpuId> members, double) { return shape_on(cluster, placement, members, candidate.plan.world()); };
    lower::Lowered lowered = lower::lower_segmented(*layers->model, candidate.plan, problem.scenario.training, cluster, shape_of, costs, {});
    times.push_back({order, problem.engine(std::move(lowered.workload), cluster, {}).timeline.step_time});
  } while (std::next_permutation(order.begin(), order.end()));
  std::stable_sort(times.begin() + 1, times.end(), [](const PlacementTime& a, const PlacementTime& b) { return a.step_time < b.step_time; });
  return times;
}

}  // namespace sgsim::search
