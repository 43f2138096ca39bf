#pragma once

#include <vector>

#include "sim/cluster/placement.h"
#include "sim/cost/estimate.h"
#include "sim/cost/profile.h"
#include "sim/graph/collective.h"

namespace sgsim::cost {

/// One way to run a collective, as NCCL's tuner weighs it (NCCL 2.x src/graph/tuning.cc: time = latency + bytes/bandwidth
/// per algorithm and protocol, the least wins; the structure is NCCL's, the constants are the profile's, fitted).
/// n ranks on N nodes, r on each; S the nccl-tests size; B a link's raw bandwidth times the protocol's efficiency;
/// L the local bandwidth ("collective.local": each rank copies or reduces its own S/n once).
///   ring:  s steps (all-reduce 2(n-1); all-gather, reduce-scatter, broadcast n-1), of which s N/n cross nodes when N > 1;
///          latency = base + (s - crossing) hop + crossing (network hop + NIC latency + switches);
///          each step moves S/n (broadcast: S in all) over the slower of B_intra and the node's NICs.
///   tree:  all-reduce on N > 1 nodes: latency = base + 2 ((r-1) hop + log2 N network hop); the node's NICs carry S for two
///          nodes and 2 S for more (double binary tree: a node is inner in one tree and leaf in the other); inside the node
///          a chain carries S at tree_efficiency B_intra.
///   nvls:  all-reduce through the switch's multicast on at least three GPUs: S (1 + 1/r) inside the node; across nodes as
///          the tree.
///   pairwise (all-to-all): latency = base + (n-1) hop; S (r-1)/n inside, S (n-r)/n through the rank's share of the NICs.
///   direct (send_receive): one message over one link.
struct CollectiveOption {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds latency;
  Bytes wire_bytes;
  BytesPerSecond bandwidth;
  bool inter_node = false;

  [[nodiscard]] Seconds time() const { return wire_bytes.value() == 0.0 ? latency : latency + wire_bytes / bandwidth; }
};

/// All options of an operation, by the model alone (no measured correction). Throws InputError when the profile has no
/// constants for the links of the group.
[[nodiscard]] std::vector<CollectiveOption> collective_options(const Profile& profile, graph::CollectiveOp op, Bytes bytes,
                                                               const cluster::GroupShape& group);

/// The fastest option.
[[nodiscard]] CollectiveOption choose_collective(const Profile& profile, graph::CollectiveOp op, Bytes bytes, const cluster::GroupShape& group);

}  // namespace sgsim::cost
