#include "sim/cluster/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/cluster/topology.h"
#include "sim/core/error.h"

namespace sgsim::cluster {
namespace {

double slowest(const Cluster& cluster, FaultKind kind, int node, int index) {
  double factor = 1.0;
  for (const Fault& fault : cluster.faults) {
    if (fault.kind == kind && fault.node == node && fault.index == index) factor *= fault.factor;
  }
  return factor;
}

int working_nics(const Cluster& cluster, int node) {
  std::set<int> failed;
  for (const Fault& fault : cluster.faults) {
    if (fault.kind == FaultKind::failed_nic && fault.node == node) failed.insert(fault.index);
  }
  return cluster.node.nics - static_cast<int>(failed.size());
}

// NICs that a node with failed ones gives the group. Each member sends as much through the NIC nearest to it as the others
// through theirs, so the NIC with most senders holds all of them up. Of the node's other GPUs as many send beside the group
// as its siblings have.
double nics_of_hurt_node(const Cluster& cluster, int node, const std::vector<int>& locals, double concurrent) {
  const double own = static_cast<double>(locals.size());
  const double strangers = cluster.node.gpus - own;
  const double active = strangers > 0.0 ? std::min(1.0, (concurrent - 1.0) * own / strangers) : 0.0;  // share of them that send
  std::map<int, double> senders;
  for (int local = 0; local < cluster.node.gpus; ++local) senders[nic_of(cluster, node, local)] += active;
  for (int local : locals) senders[nic_of(cluster, node, local)] += 1.0 - active;
  double most = 1.0;
  for (int local : locals) most = std::max(most, senders[nic_of(cluster, node, local)]);
  return own / most;
}

// NICs that `senders` neighbouring GPUs of a node reach: those nearest to them. The ranks of a stage lie side by side
// (tensor parallel fastest, pipeline slowest), and where a stage has half a node it sends through half of its NICs.
double reach(const Node& node, double senders) {
  return std::max(1.0, std::min(1.0, senders / node.gpus) * node.nics);
}

// Network part: NICs the group may use on its worst node, the slowest of them, and what the leaf up-links leave.
void add_network(const Cluster& cluster, const std::map<int, std::vector<int>>& locals_by_node, double concurrent, GroupShape& shape) {
  double nics = static_cast<double>(cluster.node.nics);
  double slow = 1.0;
  std::map<int, int> nodes_by_leaf;
  for (const auto& [node, locals] : locals_by_node) {
    std::set<int> near;
    for (int local : locals) {
      const int nic = nic_of(cluster, node, local);
      SGSIM_CHECK(nic >= 0, "a node has no working NIC");
      near.insert(nic);
      slow = std::min(slow, slowest(cluster, FaultKind::slow_nic, node, nic));
    }
    nics = std::min({nics, static_cast<double>(near.size()), reach(cluster.node, static_cast<double>(locals.size()) * concurrent) / concurrent});
    if (working_nics(cluster, node) < cluster.node.nics) nics = std::min(nics, nics_of_hurt_node(cluster, node, locals, concurrent));
    ++nodes_by_leaf[node / cluster.fabric.nodes_per_leaf];
  }
  shape.nics_per_node = nics;
  shape.nic_bandwidth = cluster.node.nic.bandwidth * slow;
  shape.nic_latency = cluster.node.nic.latency;
  shape.switch_latency = cluster.fabric.switch_latency;
  shape.switch_hops = nodes_by_leaf.size() > 1 ? 3 : 1;
  if (nodes_by_leaf.size() > 1) {
    // A ring leaves each leaf once. Where a group has k of a leaf's nodes, the leaf's other nodes belong to groups like
    // it, so nodes_per_leaf / k rings share up-links worth nodes_per_leaf / oversubscription nodes: a share of k / o.
    int fewest = nodes_by_leaf.begin()->second;
    for (const auto& [leaf, count] : nodes_by_leaf) fewest = std::min(fewest, count);
    shape.fabric_share = std::min(1.0, fewest / cluster.fabric.oversubscription);
  }
}

}  // namespace

GroupShape group_shape(const Cluster& cluster, std::span<const GpuId> members, double concurrent_groups_per_node) {
  SGSIM_CHECK(!members.empty(), "a group has members");
  SGSIM_CHECK(concurrent_groups_per_node >= 1.0, "the group itself counts");
  GroupShape shape;
  shape.ranks = static_cast<int>(members.size());
  std::map<int, std::vector<int>> locals_by_node;
  double slow_nvlink = 1.0;
  for (GpuId gpu : members) {
    SGSIM_CHECK(static_cast<int>(gpu.value) < cluster.gpus(), "GPU outside the cluster");
    locals_by_node[cluster.node_of(gpu)].push_back(cluster.local_of(gpu));
    slow_nvlink = std::min(slow_nvlink, slowest(cluster, FaultKind::slow_nvlink, cluster.node_of(gpu), cluster.local_of(gpu)));
  }
  shape.nodes = static_cast<int>(locals_by_node.size());
  shape.ranks_per_node = 0;
  for (const auto& [node, locals] : locals_by_node) shape.ranks_per_node = std::max(shape.ranks_per_node, static_cast<int>(locals.size()));
  shape.intra = cluster.node.intra;
  shape.nvlink_bandwidth = cluster.node.nvlink.bandwidth * slow_nvlink;
  shape.pcie_bandwidth = cluster.node.pcie.bandwidth;
  // NVLink pairs join local GPUs 2i and 2i+1; a group that is no such pair goes over PCIe.
  if (shape.intra == IntraNode::nvlink_pairs) {
    const auto& first = locals_by_node.begin()->second;
    const bool pair = shape.ranks_per_node == 1 || (shape.ranks_per_node == 2 && first[0] / 2 == first[1] / 2);
    if (!pair) shape.intra = IntraNode::pcie;
  }
  if (shape.intra != IntraNode::pcie) shape.nvlink_latency_added = cluster.node.nvlink.latency - kUsualNvlinkLatency;
  if (shape.nodes > 1) add_network(cluster, locals_by_node, concurrent_groups_per_node, shape);
  return shape;
}

}  // namespace sgsim::cluster
