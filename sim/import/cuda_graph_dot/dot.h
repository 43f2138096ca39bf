#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::import::dot {

struct Node {
  std::string id, label;
  std::uint32_t cluster = 0;   // Graph::clusters
};
/// A subgraph, by its name ("cluster_2") and label ("graph_2").
struct Cluster {
  std::string name, label;
};
struct Edge {
  std::uint32_t from = 0, to = 0;
};
struct Graph {
  std::vector<Node> nodes;       // in the order in which they first occur
  std::vector<Edge> edges;
  std::vector<Cluster> clusters; // 0 is the graph itself
};

/// Parses a Graphviz digraph: node and edge statements (chains too), attribute lists, subgraphs at any depth up to 64,
/// quoted and HTML-like text, comments. Escapes of record labels ("\<") are undone. Throws InputError with the line.
[[nodiscard]] Graph parse(std::string_view text, const std::string& file);

}  // namespace sgsim::import::dot
