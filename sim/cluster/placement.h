#pragma once

#include <span>
#include <vector>

#include "sim/cluster/cluster.h"

namespace sgsim::cluster {

/// All that the cost of a communicator depends on beside its operation and size.
struct GroupShape {
  int ranks = 1;
  int nodes = 1;                   // nodes it spans
  int ranks_per_node = 1;          // the largest count on one node
  double nics_per_node = 0.0;      // NICs each node gives this group while its sibling groups use the rest
  BytesPerSecond nic_bandwidth;    // one NIC as it is (slow NICs: the slowest)
  Seconds nic_latency;
  double fabric_share = 1.0;       // in (0, 1]: what oversubscription leaves of the NIC bandwidth between leaves
  int switch_hops = 0;             // between the farthest neighbours in ring order
  Seconds switch_latency;
  IntraNode intra = IntraNode::nvswitch;
  BytesPerSecond nvlink_bandwidth; // one GPU's aggregate, per direction (slow links: the slowest)
  BytesPerSecond pcie_bandwidth;
  Seconds nvlink_latency_added;    // of one NVLink hop beyond kUsualNvlinkLatency; negative where it is less
  auto operator<=>(const GroupShape&) const = default;
};

/// Shape of the communicator of `members` (in ring order) while `concurrent_groups_per_node` groups like it use each
/// node's NICs at the same time (1 when it is alone; 8 when each of 8 local GPUs reduces in its own group). Their members are
/// taken to sit beside this group's: four groups of one GPU each share the NICs of half a node of eight, not all of them.
[[nodiscard]] GroupShape group_shape(const Cluster& cluster, std::span<const GpuId> members, double concurrent_groups_per_node);

}  // namespace sgsim::cluster
