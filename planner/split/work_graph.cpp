#include "planner/split/work_graph.h"

#include <algorithm>

namespace sgsim::split {

Bytes crossing(const WorkGraph& graph, const Prefix& before) {
  std::vector<double> of_producer(graph.nodes.size(), 0.0);
  for (const WorkEdge& e : graph.edges) {
    if (before[e.from] && !before[e.to]) of_producer[e.from] = std::max(of_producer[e.from], e.bytes.value());
  }
  double total = 0.0;
  for (const double bytes : of_producer) total += bytes;
  return Bytes(total);
}

bool is_prefix(const WorkGraph& graph, const Prefix& set) {
  return std::all_of(graph.edges.begin(), graph.edges.end(), [&](const WorkEdge& e) { return !set[e.to] || set[e.from]; });
}

}  // namespace sgsim::split
