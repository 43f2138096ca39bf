#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.h"

namespace sgsim::engine {

/// How the bytes of an inter-node operation move between its members.
enum class Pattern : std::uint8_t {
  ring,      // every node sends to the next: ring, and tree with the same load on the NICs
  chain,     // a ring that is not closed: broadcast
  pairwise,  // every node sends to every other one
  forward,   // first member to second: send and receive
  backward,  // second member to first
};

/// One flow of an operation; it carries `share` of what a rank pushes through its NIC.
struct FlowPath {
  GpuId from, to;
  double share = 1.0;
  bool operator==(const FlowPath&) const = default;
};

/// Flows of one operation over `members` (in ring order), between nodes only. Where several members share a node, each
/// sends from its own GPU; a node with fewer members than the fullest uses them in turn. Empty on one node.
/// Pairwise over more than 16 other nodes sends to 16 of them, evenly spaced around the ring, the same bytes in all.
[[nodiscard]] std::vector<FlowPath> flow_paths(const cluster::Cluster& cluster, std::span<const GpuId> members, Pattern pattern);

}  // namespace sgsim::engine
