#include "sim/compile/fuse/max_flow.h"

#include <algorithm>

namespace sgsim::compile::fuse {

void FlowNetwork::add_edge(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
  edges_.push_back({to, head_[from], capacity});
  head_[from] = static_cast<std::uint32_t>(edges_.size() - 1);
  edges_.push_back({from, head_[to], 0});
  head_[to] = static_cast<std::uint32_t>(edges_.size() - 1);
}

/// Distances to the sink over edges that have capacity left; false when the source cannot reach it.
bool FlowNetwork::layer(std::uint32_t source, std::uint32_t sink) {
  level_.assign(head_.size(), kEnd);
  queue_.clear();
  queue_.push_back(sink);
  level_[sink] = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const std::uint32_t v = queue_[i];
    for (std::uint32_t e = head_[v]; e != kEnd; e = edges_[e].next) {
      const std::uint32_t from = edges_[e].to;
      if (edges_[e ^ 1U].left <= 0 || level_[from] != kEnd) continue;
      level_[from] = level_[v] + 1;
      queue_.push_back(from);
    }
  }
  return level_[source] != kEnd;
}

/// One augmenting path along falling distances, without recursion; 0 when the layering is used up.
std::int64_t FlowNetwork::augment(std::uint32_t source, std::uint32_t sink) {
  path_.clear();
  std::uint32_t v = source;
  while (v != sink) {
    std::uint32_t& e = current_[v];
    while (e != kEnd && (edges_[e].left <= 0 || level_[edges_[e].to] == kEnd || level_[edges_[e].to] + 1 != level_[v])) e = edges_[e].next;
    if (e != kEnd) {
      path_.push_back(e);
      v = edges_[e].to;
      continue;
    }
    if (v == source) return 0;
    v = edges_[path_.back() ^ 1U].to;  // dead end: go back and take the next edge
    path_.pop_back();
    current_[v] = edges_[current_[v]].next;
  }
  std::int64_t flow = kUnlimited;
  for (const std::uint32_t e : path_) flow = std::min(flow, edges_[e].left);
  for (const std::uint32_t e : path_) {
    edges_[e].left -= flow;
    edges_[e ^ 1U].left += flow;
  }
  return flow;
}

std::int64_t FlowNetwork::maximise(std::uint32_t source, std::uint32_t sink) {
  std::int64_t total = 0;
  while (layer(source, sink)) {
    current_ = head_;
    while (const std::int64_t flow = augment(source, sink)) total += flow;
  }
  return total;
}

std::vector<char> FlowNetwork::sink_side(std::uint32_t sink) const {
  std::vector<char> side(head_.size(), 0);
  std::vector<std::uint32_t> queue{sink};
  side[sink] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (std::uint32_t e = head_[queue[i]]; e != kEnd; e = edges_[e].next) {
      const std::uint32_t from = edges_[e].to;
      if (edges_[e ^ 1U].left <= 0 || side[from]) continue;
      side[from] = 1;
      queue.push_back(from);
    }
  }
  return side;
}

}  // namespace sgsim::compile::fuse
