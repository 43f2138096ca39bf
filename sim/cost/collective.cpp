#include "sim/cost/collective.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/core/error.h"
#include "sim/cost/profile_names.h"

namespace sgsim::cost {
namespace {

using graph::CollectiveOp;

/// The constants of one protocol for one group, links resolved.
struct Links {
  const ProtocolCost* intra = nullptr;    // null when each rank is alone on its node
  const ProtocolCost* network = nullptr;  // null on one node
  double intra_bandwidth = 0.0;           // bytes/s of one GPU, effective
  double node_bandwidth = 0.0;            // bytes/s of one node's NICs for this group, effective
  double intra_hop = 0.0;                 // s
  double network_hop = 0.0;               // s
};

const ProtocolCost* find_cost(const Profile& profile, Algorithm algorithm, Protocol protocol, LinkClass link) {
  for (const ProtocolCost& c : profile.protocols) {
    if (c.algorithm == algorithm && c.protocol == protocol && c.link == link) return &c;
  }
  return nullptr;
}

std::optional<Links> links_of(const Profile& profile, Algorithm family, Protocol protocol, const cluster::GroupShape& group) {
  Links links;
  const bool pcie = group.intra == cluster::IntraNode::pcie;
  links.intra = find_cost(profile, family, protocol, pcie ? LinkClass::pcie : LinkClass::nvlink);
  if (links.intra == nullptr) return std::nullopt;
  const double raw = (pcie ? group.pcie_bandwidth : group.nvlink_bandwidth).value();
  links.intra_bandwidth = raw * links.intra->efficiency;
  links.intra_hop = std::max(0.0, (links.intra->hop + group.nvlink_latency_added).value());
  if (group.nodes == 1) return links;
  links.network = find_cost(profile, family == Algorithm::nvls ? Algorithm::ring : family, protocol, LinkClass::network);
  if (links.network == nullptr) return std::nullopt;
  links.node_bandwidth = group.nics_per_node * group.nic_bandwidth.value() * group.fabric_share * links.network->efficiency;
  links.network_hop = (links.network->hop + group.nic_latency + group.switch_latency * static_cast<double>(group.switch_hops)).value();
  return links;
}

double base_of(const Links& links, bool intra_used) {
  const double inside = intra_used ? links.intra->base.value() : 0.0;
  return links.network == nullptr ? inside : std::max(inside, links.network->base.value());
}

struct Sizes {
  double n, nodes, per_node, bytes;
};

/// Joins what moves inside a node with what moves through its NICs: the slower is the bottleneck. `local` seconds of own
/// copying are part of the transfer, so they lower the effective bandwidth.
CollectiveOption joined(Algorithm algorithm, Protocol protocol, double latency, double intra_bytes, double intra_bandwidth, double node_bytes,
                        double node_bandwidth, double per_node, double local) {
  const double inside = intra_bytes > 0.0 ? intra_bytes / intra_bandwidth : 0.0;
  const double across = node_bytes > 0.0 ? node_bytes / node_bandwidth : 0.0;
  CollectiveOption o{.algorithm = algorithm, .protocol = protocol, .latency = Seconds(latency), .wire_bytes = {}, .bandwidth = {}, .inter_node = node_bytes > 0.0};
  const double transfer = std::max(inside, across) + local;
  // What the fabric carries is what the engines make flows of, even where NVLink is the bottleneck.
  o.wire_bytes = Bytes(node_bytes > 0.0 ? node_bytes / per_node : intra_bytes);
  if (o.wire_bytes.value() > 0.0) o.bandwidth = BytesPerSecond(o.wire_bytes.value() / transfer);
  return o;
}

CollectiveOption ring(const Links& l, Protocol protocol, CollectiveOp op, const Sizes& z, double local_bandwidth) {
  const double rounds = op == CollectiveOp::all_reduce ? 2.0 : 1.0;
  const double steps = rounds * (z.n - 1.0);
  const double crossing = l.network == nullptr ? 0.0 : rounds * (z.nodes - 1.0);
  const double latency = base_of(l, z.per_node > 1.0) + (steps - crossing) * l.intra_hop + crossing * l.network_hop;
  const double wire = op == CollectiveOp::broadcast ? z.bytes : steps * z.bytes / z.n;
  const double inside = z.per_node > 1.0 ? wire : 0.0, across = l.network == nullptr ? 0.0 : wire;
  const double local = op == CollectiveOp::broadcast ? 0.0 : z.bytes / z.n / local_bandwidth;
  return joined(Algorithm::ring, protocol, latency, inside, l.intra_bandwidth, across, l.node_bandwidth, z.per_node, local);
}

/// Bytes that the NICs of the busiest node send in a double binary tree over N nodes.
double tree_bytes(const Sizes& z) { return z.nodes == 2.0 ? z.bytes : 2.0 * z.bytes; }

CollectiveOption tree(const Links& l, Protocol protocol, const Sizes& z, double local_bandwidth, double tree_efficiency) {
  const double latency = base_of(l, z.per_node > 1.0) + 2.0 * ((z.per_node - 1.0) * l.intra_hop + std::ceil(std::log2(z.nodes)) * l.network_hop);
  const double inside = z.per_node > 1.0 ? z.bytes : 0.0;
  return joined(Algorithm::tree, protocol, latency, inside, l.intra_bandwidth * tree_efficiency, tree_bytes(z), l.node_bandwidth, z.per_node, z.bytes / z.n / local_bandwidth);
}

CollectiveOption nvls(const Links& l, const Sizes& z) {
  const double latency = base_of(l, true) + (z.per_node - 1.0) * l.intra_hop + (z.nodes > 1.0 ? 2.0 * std::ceil(std::log2(z.nodes)) * l.network_hop : 0.0);
  const double inside = z.bytes * (1.0 + 1.0 / z.per_node), across = z.nodes > 1.0 ? tree_bytes(z) : 0.0;
  return joined(Algorithm::nvls, Protocol::simple, latency, inside, l.intra_bandwidth, across, l.node_bandwidth, z.per_node, 0.0);
}

CollectiveOption pairwise(const Links& l, Protocol protocol, const Sizes& z, double local_bandwidth) {
  const double across = z.bytes * (z.n - z.per_node) / z.n * z.per_node;  // of the whole node
  const double latency = base_of(l, z.per_node > 1.0) + (z.n - 1.0) * l.intra_hop + (z.nodes > 1.0 ? l.network_hop : 0.0);
  return joined(Algorithm::pairwise, protocol, latency, z.bytes * (z.per_node - 1.0) / z.n, l.intra_bandwidth, z.nodes > 1.0 ? across : 0.0, l.node_bandwidth,
                z.per_node, z.bytes / z.n / local_bandwidth);
}

CollectiveOption direct(const Links& l, Protocol protocol, const Sizes& z) {
  const double latency = base_of(l, z.nodes == 1.0) + (z.nodes > 1.0 ? l.network_hop : l.intra_hop);
  const bool network = z.nodes > 1.0;
  return joined(Algorithm::direct, protocol, latency, network ? 0.0 : z.bytes, l.intra_bandwidth, network ? z.bytes : 0.0, l.node_bandwidth, 1.0, 0.0);
}

}  // namespace

std::vector<CollectiveOption> collective_options(const Profile& profile, CollectiveOp op, Bytes bytes, const cluster::GroupShape& group) {
  SGSIM_CHECK(group.ranks >= 2 && group.nodes >= 1 && group.ranks_per_node >= 1, "a collective needs two ranks");
  const Sizes z{.n = static_cast<double>(group.ranks), .nodes = static_cast<double>(group.nodes), .per_node = static_cast<double>(group.ranks_per_node), .bytes = bytes.value()};
  const double local = profile.rates.at("collective.local").value.value();
  const bool point_to_point = op == CollectiveOp::all_to_all || op == CollectiveOp::send_receive;
  std::vector<CollectiveOption> options;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    const auto l = links_of(profile, point_to_point ? Algorithm::pairwise : Algorithm::ring, protocol, group);
    if (!l) continue;
    if (op == CollectiveOp::all_to_all) options.push_back(pairwise(*l, protocol, z, local));
    if (op == CollectiveOp::send_receive) options.push_back(direct(*l, protocol, z));
    if (!point_to_point) options.push_back(ring(*l, protocol, op, z, local));
    if (op == CollectiveOp::all_reduce && group.nodes > 1) options.push_back(tree(*l, protocol, z, local, profile.factors.at("collective.tree_efficiency").value));
  }
  const bool multicast = op == CollectiveOp::all_reduce && group.intra == cluster::IntraNode::nvswitch && group.ranks_per_node >= 3;
  if (multicast) {
    if (const auto l = links_of(profile, Algorithm::nvls, Protocol::simple, group)) options.push_back(nvls(*l, z));
  }
  if (options.empty()) {
    throw InputError({.file = profile.name, .where = "$.protocols", .found = "no constants for the links of this group",
                      .expected = "protocols for " + std::string(group.intra == cluster::IntraNode::pcie ? "pcie" : "nvlink") + (group.nodes > 1 ? " and network" : ""), .hint = ""});
  }
  return options;
}

CollectiveOption choose_collective(const Profile& profile, CollectiveOp op, Bytes bytes, const cluster::GroupShape& group) {
  const std::vector<CollectiveOption> options = collective_options(profile, op, bytes, group);
  return *std::min_element(options.begin(), options.end(), [](const CollectiveOption& a, const CollectiveOption& b) { return a.time() < b.time(); });
}

}  // namespace sgsim::cost
