#include "planner/search/slot_shape.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "sim/lower/binding/layout.h"

namespace sgsim::search {
namespace {

std::vector<GpuId> gpus_of(const plan::Plan& plan, int shard_group, lower::Slot slot, const lower::Coordinates& at) {
  std::vector<GpuId> gpus;
  for (const RankId rank : lower::members_of(plan, shard_group, slot, at)) gpus.push_back(GpuId{rank.value});
  return gpus;
}

bool crosses(const cluster::Cluster& cluster, const std::vector<GpuId>& gpus) {
  for (const GpuId gpu : gpus) {
    if (cluster.node_of(gpu) != cluster.node_of(gpus.front())) return true;
  }
  return false;
}

}  // namespace

namespace {

cluster::GroupShape shape_at(const cluster::Cluster& cluster, const plan::Plan& plan, int shard_group, lower::Slot slot, const lower::Coordinates& at) {
  const std::vector<GpuId> gpus = gpus_of(plan, shard_group, slot, at);
  if (!crosses(cluster, gpus)) return cluster::group_shape(cluster, gpus, 1.0);
  std::set<RankId> leaders;
  const int node = cluster.node_of(gpus.front());
  for (int local = 0; local < cluster.node.gpus; ++local) {
    const RankId rank{static_cast<std::uint32_t>(node * cluster.node.gpus + local)};
    if (static_cast<int>(rank.value) >= plan.world()) break;
    const lower::Coordinates other = lower::coordinates_of(plan, rank);
    if (other.pp != at.pp) continue;
    const RankId leader = lower::leader_of(plan, shard_group, slot, other);
    if (leaders.contains(leader)) continue;
    if (crosses(cluster, gpus_of(plan, shard_group, slot, other))) leaders.insert(leader);
  }
  return cluster::group_shape(cluster, gpus, static_cast<double>(std::max<std::size_t>(1, leaders.size())));
}

/// Which of two groups of one kind is the slower: by what a node of it can send, then by its NVLink.
bool slower(const cluster::GroupShape& a, const cluster::GroupShape& b) {
  const auto rate = [](const cluster::GroupShape& s) { return std::pair(s.nodes > 1 ? (s.nic_bandwidth * (s.nics_per_node * s.fabric_share)).value() : 0.0, s.nvlink_bandwidth.value()); };
  return rate(a) < rate(b);
}

}  // namespace

cluster::GroupShape slot_shape(const cluster::Cluster& cluster, const plan::Plan& plan, int shard_group, lower::Slot slot, int stage) {
  cluster::GroupShape shape = shape_at(cluster, plan, shard_group, slot, {.tp = 0, .cp = 0, .dp = 0, .pp = stage});
  for (const cluster::Fault& fault : cluster.faults) {  // every group waits for the slowest in the end
    if (fault.kind == cluster::FaultKind::slow_gpu) continue;
    for (int local = 0; local < cluster.node.gpus; ++local) {
      const auto rank = static_cast<std::uint32_t>(fault.node * cluster.node.gpus + local);
      if (static_cast<int>(rank) >= plan.world()) break;
      const lower::Coordinates at = lower::coordinates_of(plan, RankId{rank});
      if (at.pp != stage) continue;
      const cluster::GroupShape hit = shape_at(cluster, plan, shard_group, slot, at);
      if (slower(hit, shape)) shape = hit;
    }
  }
  return shape;
}

std::vector<double> stage_speeds(const cluster::Cluster& cluster, const plan::Plan& plan) {
  std::vector<double> speeds(static_cast<std::size_t>(plan.pp), 1.0);
  for (const cluster::Fault& fault : cluster.faults) {
    const int rank = fault.node * cluster.node.gpus + fault.index;
    if (fault.kind != cluster::FaultKind::slow_gpu || rank >= plan.world()) continue;
    double& speed = speeds[static_cast<std::size_t>(lower::coordinates_of(plan, RankId{static_cast<std::uint32_t>(rank)}).pp)];
    speed = std::min(speed, fault.factor);
  }
  return speeds;
}

}  // namespace sgsim::search
