#include "planner/split/minimum_cut.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <map>
#include <utility>

namespace sgsim::split {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct VertexState {
  boost::default_color_type color = boost::white_color;
  Traits::edge_descriptor predecessor;
  std::size_t distance = 0;
};
struct EdgeState {
  double capacity = 0.0, residual = 0.0;
  Traits::edge_descriptor reverse;
};
using Flow = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexState, EdgeState>;

void connect(Flow& flow, std::size_t from, std::size_t to, double forward, double backward) {
  const auto there = boost::add_edge(from, to, flow).first, back = boost::add_edge(to, from, flow).first;
  flow[there].capacity = forward;
  flow[back].capacity = backward;
  flow[there].reverse = back;
  flow[back].reverse = there;
}

}  // namespace

std::optional<Prefix> minimum_cut(const WorkGraph& graph, const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) {
  const std::size_t n = graph.nodes.size();
  struct Value {
    std::size_t vertex = 0;
    double bytes = 0.0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Value> values;
  for (const WorkEdge& e : graph.edges) {
    Value& value = values[{e.from, e.value}];
    value.bytes = std::max(value.bytes, e.bytes.value());
  }
  double total = 1.0;
  std::size_t vertices = n;
  for (auto& [key, value] : values) {
    value.vertex = vertices++;
    total += value.bytes;
  }
  const double never = 2.0 * total;
  Flow flow(vertices + 2);  // nodes, values, source, sink
  const std::size_t source = vertices, sink = vertices + 1;
  for (const auto& [key, value] : values) connect(flow, key.first, value.vertex, value.bytes, 0.0);
  for (const WorkEdge& e : graph.edges) {
    connect(flow, values.at({e.from, e.value}).vertex, e.to, never, 0.0);
    connect(flow, e.to, e.from, never, 0.0);  // a member brings its predecessors
  }
  for (const std::uint32_t i : first) connect(flow, source, i, never, 0.0);
  for (const std::uint32_t i : second) connect(flow, i, sink, never, 0.0);
  const double cut = boost::boykov_kolmogorov_max_flow(
      flow, boost::get(&EdgeState::capacity, flow), boost::get(&EdgeState::residual, flow), boost::get(&EdgeState::reverse, flow), boost::get(&VertexState::predecessor, flow),
      boost::get(&VertexState::color, flow), boost::get(&VertexState::distance, flow), boost::get(boost::vertex_index, flow), source, sink);
  if (cut >= never) return std::nullopt;
  // What the source still reaches is the smallest minimum cut.
  Prefix reached(vertices + 2, false);
  std::vector<std::size_t> open = {source};
  reached[source] = true;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const auto e : boost::make_iterator_range(boost::out_edges(at, flow))) {
      const std::size_t to = boost::target(e, flow);
      if (flow[e].residual <= 1e-12 * never || reached[to]) continue;
      reached[to] = true;
      open.push_back(to);
    }
  }
  reached.resize(n);
  return reached;
}

}  // namespace sgsim::split
