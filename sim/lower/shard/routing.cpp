#include "sim/lower/shard/routing.h"

#include <algorithm>

#include "sim/graph/operators.h"
#include "sim/lower/shard/weights.h"

namespace sgsim::lower::shard {
namespace {

using graph::Node;
using graph::NodeKind;
using graph::ValueRef;

bool divided_first(const Placement& p) { return p.sharded() && p.dim == 0; }

}  // namespace

std::int64_t experts_of(const graph::OperatorGraph& graph) {
  const Weights weights(graph);
  std::int64_t experts = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::call || operator_name(node.target) != "bmm") continue;
    graph::for_each_input(node, [&](ValueRef v) {
      const auto parameter = weights.parameter(v);
      if (parameter && graph.node(*parameter).outputs[0].shape.size() == 3) experts = graph.node(*parameter).outputs[0].shape[0];
    });
    if (experts > 0) break;
  }
  return experts;
}

Routing::Routing(const graph::OperatorGraph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh), experts_(experts_of(graph)), reader_(graph.nodes.size(), -1) {
  if (experts_ == 0) return;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::call) continue;
    graph::for_each_input(graph.nodes[i], [&](ValueRef v) {
      std::int32_t& reader = reader_[v.node.value];
      if (reader < 0) reader = static_cast<std::int32_t>(i);
    });
  }
}

/// Tokens' order for rows in the experts' order, and back.
Placement Routing::other_order(const Placement& rows) const { return split(0, true, rows.outer == experts_ ? mesh_.batch : experts_); }

/// Memory that rows are added or put into lies as what is put there; its operand only tells the type.
std::optional<Decision> Routing::zeros(std::uint32_t node, const std::vector<Placement>& have, const std::function<Placement(ValueRef)>& lies) const {
  const std::int32_t reader = reader_[node];
  if (reader < 0) return std::nullopt;
  const Node& by = graph_.nodes[static_cast<std::size_t>(reader)];
  const std::string_view name = operator_name(by.target);
  const auto indices = tensor_at(by, 2);
  const auto base = tensor_at(by, 0);
  if ((name != "index_add" && name != "scatter") || !indices || !base || base->node.value != node) return std::nullopt;
  const Placement rows = lies(*indices);
  if (!divided_first(rows)) return std::nullopt;
  return Decision{have, {name == "scatter" ? rows : other_order(rows)}};
}

std::optional<Decision> Routing::decide(std::uint32_t i, const std::vector<ValueRef>& operands, const std::vector<Placement>& have,
                                        const std::function<Placement(ValueRef)>& lies) const {
  if (experts_ == 0 || operands.empty()) return std::nullopt;
  const Node& node = graph_.nodes[i];
  const std::string_view name = operator_name(node.target);
  if (name == "new_zeros") return zeros(i, have, lies);
  const auto rank = graph_.type(operands[0]).shape.size();
  if (name == "topk" && divided_first(have[0]) && rank > 1) return Decision{have, {have[0], have[0]}};
  if (name == "sort" && divided_first(have[0]) && rank == 1) return Decision{have, {other_order(have[0]), other_order(have[0])}};
  if (name == "index_select" && operands.size() == 2 && divided_first(have[1]) && divided_first(have[0]) && integer_at(node, 1) == 0) return Decision{have, {have[1]}};
  if ((name == "index_add" || name == "scatter") && operands.size() == 3 && divided_first(have[0]) && divided_first(have[1]) && divided_first(have[2])) return Decision{have, {have[0]}};
  if (name == "cumsum" && have[0].sharded() && integer_at(node, 1) != have[0].dim) return Decision{have, {have[0]}};
  if (name == "slice" && have[0].sharded() && node.outputs[0].shape[static_cast<std::size_t>(have[0].dim)] == 1) return Decision{have, {whole()}};  // each rank's first row
  if (name == "index_put" && operands.size() == 3 && divided_first(have[0]) && have[0] == have[1]) {
    return Decision{{have[0], have[1], split(0, true)}, {other_order(have[0])}};  // where each row is: the inverse of the sorting
  }
  return std::nullopt;
}

}  // namespace sgsim::lower::shard
