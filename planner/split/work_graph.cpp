#include "planner/split/work_graph.h"

#include <algorithm>
#include <map>
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

}  // namespace sgsim::split
