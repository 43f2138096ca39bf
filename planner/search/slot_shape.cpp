#include "planner/search/slot_shape.h"

#include <set>
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

cluster::GroupShape slot_shape(const cluster::Cluster& cluster, const plan::Plan& plan, int shard_group, lower::Slot slot, int stage) {
  const lower::Coordinates first{.tp = 0, .cp = 0, .dp = 0, .pp = stage};
  const std::vector<GpuId> gpus = gpus_of(plan, shard_group, slot, first);
  if (!crosses(cluster, gpus)) return cluster::group_shape(cluster, gpus, 1.0);
  std::set<RankId> leaders;
  const int node = cluster.node_of(gpus.front());
  for (int local = 0; local < cluster.node.gpus; ++local) {
    const RankId rank{static_cast<std::uint32_t>(node * cluster.node.gpus + local)};
    if (static_cast<int>(rank.value) >= plan.world()) break;
    const lower::Coordinates at = lower::coordinates_of(plan, rank);
    if (at.pp != stage) continue;
    const RankId leader = lower::leader_of(plan, shard_group, slot, at);
    if (leaders.contains(leader)) continue;
    if (crosses(cluster, gpus_of(plan, shard_group, slot, at))) leaders.insert(leader);
  }
  return cluster::group_shape(cluster, gpus, static_cast<double>(std::max<std::size_t>(1, leaders.size())));
}

}  // namespace sgsim::search
