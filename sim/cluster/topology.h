#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.h"

namespace sgsim::cluster {

/// A directed link of the compute fabric, with its faults applied.
struct Link {
  std::string name;     // "node3.nic2.up", "leaf1.rail2.up"
  LinkSpec spec;
  bool operator==(const Link&) const = default;
};

/// The fabric as links. Up-links of a leaf switch stand as one trunk of their summed bandwidth.
///
/// rail_optimized: NIC r of the nodes of one leaf group meets in the leaf (group, r); leaves of a rail and of different
/// rails meet in the spine. fat_tree: all NICs of a leaf group meet in one leaf.
struct Topology {
  std::vector<Link> links;
  int leaf_groups = 0;
  int leaves_per_group = 0;   // rails, or 1
};

[[nodiscard]] Topology build_topology(const Cluster& cluster);

/// The NIC that local GPU `local` of node `node` uses: the nearest that has not failed; nothing works: -1.
[[nodiscard]] int nic_of(const Cluster& cluster, int node, int local);

/// Links from `from` to `to` (GPUs of different nodes) in order: NIC up, trunk up and down when leaves differ, NIC down.
/// rail_optimized leaves on the destination's rail, as NCCL does through NVLink (PXN).
[[nodiscard]] std::vector<LinkId> route(const Cluster& cluster, const Topology& topology, GpuId from, GpuId to);

}  // namespace sgsim::cluster
