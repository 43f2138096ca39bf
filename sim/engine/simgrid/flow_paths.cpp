#include "sim/engine/simgrid/flow_paths.h"

#include <algorithm>
#include <cstddef>

namespace sgsim::engine {
namespace {

constexpr std::size_t kPairwisePeers = 16;

struct NodeMembers {
  int node = 0;
  std::vector<GpuId> gpus;
};

/// Nodes in the order in which the ring first meets them.
std::vector<NodeMembers> by_node(const cluster::Cluster& cluster, std::span<const GpuId> members) {
  std::vector<NodeMembers> nodes;
  std::vector<std::size_t> place(static_cast<std::size_t>(cluster.nodes), ~std::size_t{0});
  for (const GpuId gpu : members) {
    const int node = cluster.node_of(gpu);
    std::size_t& at = place[static_cast<std::size_t>(node)];
    if (at == ~std::size_t{0}) {
      at = nodes.size();
      nodes.push_back({.node = node, .gpus = {}});
    }
    nodes[at].gpus.push_back(gpu);
  }
  return nodes;
}

/// Steps around the ring at which a node finds its peers.
std::vector<std::size_t> strides(std::size_t nodes, Pattern pattern) {
  if (pattern != Pattern::pairwise) return {1};
  const std::size_t others = nodes - 1;
  const std::size_t peers = std::min(others, kPairwisePeers);
  std::vector<std::size_t> result;
  for (std::size_t p = 0; p < peers; ++p) result.push_back(1 + p * others / peers);
  return result;
}

}  // namespace

std::vector<FlowPath> flow_paths(const cluster::Cluster& cluster, std::span<const GpuId> members, Pattern pattern) {
  if (pattern == Pattern::forward || pattern == Pattern::backward) {
    const GpuId from = members[pattern == Pattern::forward ? 0 : 1];
    const GpuId to = members[pattern == Pattern::forward ? 1 : 0];
    if (cluster.node_of(from) == cluster.node_of(to)) return {};
    return {{.from = from, .to = to, .share = 1.0}};
  }
  const std::vector<NodeMembers> nodes = by_node(cluster, members);
  if (nodes.size() < 2) return {};
  std::size_t lanes = 0;
  for (const NodeMembers& node : nodes) lanes = std::max(lanes, node.gpus.size());
  const std::vector<std::size_t> steps = strides(nodes.size(), pattern);
  const std::size_t senders = pattern == Pattern::chain ? nodes.size() - 1 : nodes.size();
  std::vector<FlowPath> paths;
  paths.reserve(senders * lanes * steps.size());
  for (std::size_t n = 0; n < senders; ++n) {
    for (const std::size_t step : steps) {
      const auto& from = nodes[n].gpus;
      const auto& to = nodes[(n + step) % nodes.size()].gpus;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        paths.push_back({.from = from[lane % from.size()], .to = to[lane % to.size()], .share = 1.0 / static_cast<double>(steps.size())});
      }
    }
  }
  return paths;
}

}  // namespace sgsim::engine
