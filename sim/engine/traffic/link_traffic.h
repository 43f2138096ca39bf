#pragma once

#include <string>
#include <vector>

#include "sim/cluster/topology.h"
#include "sim/lower/workload.h"

namespace sgsim::engine {

/// Bytes that the links of a cluster carry in one step, each direction for itself.
struct LinkTraffic {
  std::vector<Bytes> inside;   // by GPU: what it sends to GPUs of its node, over NVLink (IntraNode::pcie: over PCIe)
  std::vector<Bytes> outside;  // by GPU: what it sends to other nodes, over PCIe to a port
  std::vector<Bytes> fabric;   // by LinkId of cluster::build_topology: ports and trunks, up and down
  bool operator==(const LinkTraffic&) const = default;
};

/// Of a workload that holds every rank (engine::Folded does not). Between nodes bytes take the paths of the simgrid engine's flows
/// (flow_paths.h). Inside a node a member of a collective of n members, r on each node, over S bytes sends, as its algorithm does
/// (sim/cost/collective.h): ring 2(n-1)/n S (all-reduce), (n-1)/n S (all-gather, reduce-scatter), S (broadcast); tree S; nvls
/// S(1 + 1/r); pairwise (r-1)/n S; a message S. Copies to and from the host are left out.
[[nodiscard]] LinkTraffic link_traffic(const lower::Workload& workload, const cluster::Cluster& cluster);

/// One direction of one link over the step.
struct LinkUse {
  std::string name;            // "node0.gpu3.nvlink", "node0.gpu3.pcie", "node3.nic2.up", "leaf1.rail2.up"
  Bytes bytes;
  BytesPerSecond bandwidth;    // raw, faults applied
  double share = 0.0;          // bytes over what the link could carry in the step
};

/// Every link of the cluster: by GPU NVLink (where there is any) and PCIe, then the fabric by LinkId. With IntraNode::pcie what stays
/// inside a node stands under PCIe too.
[[nodiscard]] std::vector<LinkUse> link_uses(const LinkTraffic& traffic, const cluster::Cluster& cluster, Seconds step);

}  // namespace sgsim::engine
