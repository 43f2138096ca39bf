#include "sim/scenario/graph_shape.h"

#include <algorithm>

#include "sim/core/text_file.h"
#include "sim/graph/graph_file.h"
#include "sim/graph/node_work.h"
#include "sim/graph/operators.h"
#include "sim/import/aot/aot.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::scenario {
namespace {

void add_embedding(const graph::OperatorGraph& graph, const graph::Node& node, plan::ModelShape& shape) {
  if (node.kind != graph::NodeKind::call || node.target != "aten.embedding.default") return;
  graph::for_each_input(node, [&](graph::ValueRef input) {
    const graph::TensorType& type = graph.type(input);
    if (!graph::is_floating(type.dtype) || type.shape.size() != 2 || type.shape[0] <= shape.vocab) return;
    shape.vocab = type.shape[0];
    shape.hidden = type.shape[1];
  });
}

}  // namespace

graph::OperatorGraph read_any_graph(const std::string& path) {
  const std::string text = read_text_file(path);
  // A graph file of ours says so in its first key; a captured one starts with its model's name.
  constexpr std::size_t kFirstKey = 64;
  const bool ours = std::string_view(text).substr(0, kFirstKey).find("\"format\"") != std::string_view::npos;
  return ours ? graph::parse_graph(text, path) : import::parse_aot_graph(text, path);
}

plan::ModelShape shape_of(const graph::OperatorGraph& graph) {
  plan::ModelShape shape;
  shape.sequence = graph.sequence;
  const lower::segment::Cut cut = lower::segment::cut(graph);
  for (std::uint32_t at = 0; at < cut.count(); ++at) shape.layers += cut.role(at) == lower::SegmentRole::layer ? 1 : 0;
  for (const auto& attention : graph::attentions_of(graph)) {
    shape.heads = std::max(shape.heads, attention.work.heads);
    shape.kv_heads = std::max(shape.kv_heads, attention.work.kv_heads);
  }
  for (const graph::Node& node : graph.nodes) add_embedding(graph, node, shape);
  return shape;
}

}  // namespace sgsim::scenario
