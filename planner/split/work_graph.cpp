#include "planner/split/work_graph.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

namespace sgsim::split {

Bytes crossing(const WorkGraph& graph, const Prefix& before) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> of_value;
  for (const WorkEdge& e : graph.edges) {
    if (!before[e.from] || before[e.to]) continue;
    double& bytes = of_value[{e.from, e.value}];
    bytes = std::max(bytes, e.bytes.value());
  }
  double total = 0.0;
  for (const auto& [value, bytes] : of_value) total += bytes;
  return Bytes(total);
}

bool is_prefix(const WorkGraph& graph, const Prefix& set) {
  return std::all_of(graph.edges.begin(), graph.edges.end(), [&](const WorkEdge& e) { return !set[e.to] || set[e.from]; });
}

WorkGraph without_loose_ends(const WorkGraph& graph, double small) {
  const auto count = static_cast<std::uint32_t>(graph.nodes.size());
  if (count < 3) return graph;
  Seconds all;
  for (const WorkNode& node : graph.nodes) all += node.time;
  std::vector<bool> read(count, false), reads(count, false);
  for (const WorkEdge& edge : graph.edges) read[edge.from] = reads[edge.to] = true;
  std::vector<std::uint32_t> stands_for(count);  // where each node goes
  std::iota(stands_for.begin(), stands_for.end(), 0u);
  for (bool moved = true; moved;) {  // what only a loose end reads becomes one
    moved = false;
    std::vector<std::int64_t> last_read(count, -1), first_reader(count, -1);
    for (const WorkEdge& edge : graph.edges) {
      const std::uint32_t from = stands_for[edge.from], to = stands_for[edge.to];
      if (from == to) continue;
      last_read[to] = std::max<std::int64_t>(last_read[to], from);
      first_reader[from] = first_reader[from] < 0 ? to : std::min<std::int64_t>(first_reader[from], to);
    }
    for (std::uint32_t n = 1; n + 1 < count && !moved; ++n) {
      if (stands_for[n] != n || (graph.nodes[n].time > all * small && (read[n] || !reads[n]))) continue;
      if (first_reader[n] >= 0 && last_read[n] >= 0) continue;
      const std::int64_t into = last_read[n] >= 0 ? last_read[n] : first_reader[n] >= 0 ? first_reader[n] : stands_for[n - 1];
      if (into == n) continue;
      for (std::uint32_t& at : stands_for) {
        if (at == n) at = static_cast<std::uint32_t>(into);
      }
      moved = true;
    }
  }
  WorkGraph merged;
  std::vector<std::uint32_t> number(count, 0);
  for (std::uint32_t n = 0; n < count; ++n) {
    if (stands_for[n] != n) continue;
    number[n] = static_cast<std::uint32_t>(merged.nodes.size());
    merged.nodes.push_back({.name = graph.nodes[n].name, .time = {}, .memory = {}, .parameters = {}});
  }
  for (std::uint32_t n = 0; n < count; ++n) {
    WorkNode& node = merged.nodes[number[stands_for[n]]];
    node.time += graph.nodes[n].time;
    node.memory += graph.nodes[n].memory;
    node.parameters += graph.nodes[n].parameters;
  }
  for (WorkEdge edge : graph.edges) {
    edge.from = number[stands_for[edge.from]];
    edge.to = number[stands_for[edge.to]];
    if (edge.from < edge.to) merged.edges.push_back(edge);
  }
  return merged;
}

}  // namespace sgsim::split
