#include "sim/cluster/topology.h"

#include <fmt/format.h>

#include <cstdlib>

#include "sim/core/error.h"

namespace sgsim::cluster {
namespace {

double nic_factor(const Cluster& cluster, int node, int nic) {
  double factor = 1.0;
  for (const Fault& fault : cluster.faults) {
    if (fault.node != node || fault.index != nic) continue;
    if (fault.kind == FaultKind::failed_nic) return 0.0;
    if (fault.kind == FaultKind::slow_nic) factor *= fault.factor;
  }
  return factor;
}

// Link order: for each node, for each NIC, up then down; then for each leaf, trunk up then down.
std::uint32_t nic_link(const Cluster& cluster, int node, int nic, bool up) {
  return static_cast<std::uint32_t>((node * cluster.node.nics + nic) * 2 + (up ? 0 : 1));
}
std::uint32_t trunk_link(const Cluster& cluster, const Topology& t, int group, int leaf, bool up) {
  return static_cast<std::uint32_t>(cluster.nodes * cluster.node.nics * 2 + (group * t.leaves_per_group + leaf) * 2 + (up ? 0 : 1));
}

}  // namespace

Topology build_topology(const Cluster& cluster) {
  Topology t;
  const int nics = cluster.node.nics;
  t.leaf_groups = (cluster.nodes + cluster.fabric.nodes_per_leaf - 1) / cluster.fabric.nodes_per_leaf;
  t.leaves_per_group = cluster.fabric.kind == FabricKind::rail_optimized ? nics : 1;
  t.links.reserve(static_cast<std::size_t>(cluster.nodes * nics * 2 + t.leaf_groups * t.leaves_per_group * 2));
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int nic = 0; nic < nics; ++nic) {
      const LinkSpec spec{.bandwidth = cluster.node.nic.bandwidth * nic_factor(cluster, node, nic), .latency = cluster.node.nic.latency};
      t.links.push_back({.name = fmt::format("node{}.nic{}.up", node, nic), .spec = spec});
      t.links.push_back({.name = fmt::format("node{}.nic{}.down", node, nic), .spec = spec});
    }
  }
  for (int group = 0; group < t.leaf_groups; ++group) {
    for (int leaf = 0; leaf < t.leaves_per_group; ++leaf) {
      const double ports = static_cast<double>(cluster.fabric.nodes_per_leaf) * nics / t.leaves_per_group;
      const LinkSpec spec{.bandwidth = cluster.node.nic.bandwidth * (ports / cluster.fabric.oversubscription), .latency = cluster.fabric.switch_latency};
      t.links.push_back({.name = fmt::format("leaf{}.rail{}.up", group, leaf), .spec = spec});
      t.links.push_back({.name = fmt::format("leaf{}.rail{}.down", group, leaf), .spec = spec});
    }
  }
  return t;
}

int nic_of(const Cluster& cluster, int node, int local) {
  const int home = local * cluster.node.nics / cluster.node.gpus;
  int best = -1;
  for (int nic = 0; nic < cluster.node.nics; ++nic) {
    if (nic_factor(cluster, node, nic) == 0.0) continue;
    if (best < 0 || std::abs(nic - home) < std::abs(best - home)) best = nic;
  }
  return best;
}

std::vector<LinkId> route(const Cluster& cluster, const Topology& topology, GpuId from, GpuId to) {
  const int a = cluster.node_of(from);
  const int b = cluster.node_of(to);
  SGSIM_CHECK(a != b, "route is for GPUs of different nodes");
  const bool rails = cluster.fabric.kind == FabricKind::rail_optimized;
  const int down = nic_of(cluster, b, cluster.local_of(to));
  int up = nic_of(cluster, a, cluster.local_of(from));
  if (rails && down >= 0 && nic_factor(cluster, a, down) > 0.0) up = down;
  SGSIM_CHECK(up >= 0 && down >= 0, "a node has no working NIC");
  const int group_a = a / cluster.fabric.nodes_per_leaf;
  const int group_b = b / cluster.fabric.nodes_per_leaf;
  const int leaf_a = rails ? up : 0;
  const int leaf_b = rails ? down : 0;
  std::vector<LinkId> links{LinkId{nic_link(cluster, a, up, true)}};
  if (group_a != group_b || leaf_a != leaf_b) {
    links.push_back(LinkId{trunk_link(cluster, topology, group_a, leaf_a, true)});
    links.push_back(LinkId{trunk_link(cluster, topology, group_b, leaf_b, false)});
  }
  links.push_back(LinkId{nic_link(cluster, b, down, false)});
  return links;
}

}  // namespace sgsim::cluster
