#include "sim/lower/shard/rules.h"

#include <algorithm>

#include "sim/graph/operators.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {
namespace {

using graph::Node;
using graph::OperatorGraph;

/// Operators f with f(a + b) = f(a) + f(b) in all their tensor operands at once.
bool is_linear(const Node& node, const std::vector<Operand>& operands) {
  const std::string_view name = operator_name(node.target);
  switch (passage(node.target)) {
    case Passage::transpose:
    case Passage::move:
    case Passage::reshape:
    case Passage::expand:
    case Passage::unsqueeze:
    case Passage::squeeze:
    case Passage::slice:
    case Passage::select:
    case Passage::divide:
    case Passage::join:
    case Passage::slice_gradient: return true;
    case Passage::reduction: return name == "sum" || name == "mean";
    case Passage::elementwise:
      if (name == "add" || name == "sub") return operands.size() == 2;
      if (name == "mul" || name == "div") return operands.size() == 1;
      return name == "neg" || name == "clone" || name == "_to_copy" || name == "detach" || name == "alias" || name == "contiguous";
    default: return false;
  }
}

/// Whether nothing but one chain of views and casts reads a value: then it is summed over ranks only where that leads.
bool read_once(const OperatorGraph& graph, graph::ValueRef v, const Choices& choices) {
  while (choices.readers[v.node.value] == 1) {
    const Node& node = graph.node(v.node);
    if (!graph::is_view(node.target) && operator_name(node.target) != "_to_copy") return true;
    const auto source = tensor_at(node, 0);
    if (!source || graph.node(source->node).kind != graph::NodeKind::call) return true;
    v = *source;
  }
  return false;
}

/// Adding to a sum over ranks that is still to be taken: the residual stream's gradient and the input gradients of q, k and
/// v in a model that normalises after the sum. The terms are summed first, then over the ranks, then the rest is added.
std::optional<Transfer> transfer_mixed(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh,
                                       const Choices& choices) {
  if (operator_name(node.target) != "add" || node.phase != graph::Phase::backward || operands.size() != 2 || node.args.size() != 2) return std::nullopt;
  if (!node.kwargs.empty()) return std::nullopt;
  const Placement& term = (operands[0].have.partial() ? operands[0] : operands[1]).have;
  Transfer result;
  bool waiting = false;
  for (const Operand& operand : operands) {
    if (graph.type(operand.value).shape != node.outputs[0].shape) return std::nullopt;
    const bool once = operand.have.mixed ? choices.readers[operand.value.node.value] == 1 : read_once(graph, operand.value, choices);
    const bool same = operand.have.dim == term.dim && operand.have.outer == term.outer;
    if (operand.have.partial() && once && same) {
      waiting = true;
      result.wanted.push_back(operand.have);
      continue;
    }
    const Placement settled = operand.have.partial() ? summed(mesh, operand.have) : operand.have;
    if (settled != summed(mesh, term)) return std::nullopt;
    result.wanted.push_back(settled);
  }
  if (!waiting) return std::nullopt;
  result.results = {term};
  result.results[0].mixed = true;
  return result;
}

/// A sum over ranks that is not needed yet passes through linear operators. Terms are added only if neither is needed for
/// itself (the input gradients of q, k and v; not the residual stream and what is added to it).
std::optional<Transfer> transfer_partial(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh,
                                         const Choices& choices) {
  if (!is_linear(node, operands)) return std::nullopt;
  const Placement& first = operands.front().have;
  for (const Operand& operand : operands) {
    if (operands.size() > 1 && !read_once(graph, operand.value, choices)) return std::nullopt;
    if (!operand.have.partial() || operand.have.mixed || operand.have.dim != first.dim || operand.have.outer != first.outer) return std::nullopt;
    if (graph.type(operand.value).shape.size() != graph.type(operands.front().value).shape.size()) return std::nullopt;
  }
  Transfer result;
  for (const Operand& operand : operands) result.wanted.push_back(operand.have);
  const auto carried = carry(graph, node, mesh, first);
  result.results.assign(node.outputs.size(), carried.value_or(term(-1, 1, first.summed)));
  return result;
}

std::optional<Transfer> transfer_view(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh) {
  const auto carried = carry(graph, node, mesh, operands.front().have);
  if (!carried) return std::nullopt;
  Transfer result;
  for (const Operand& operand : operands) result.wanted.push_back(operand.have);
  result.results.assign(node.outputs.size(), *carried);
  return result;
}

std::optional<Transfer> transfer_join(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh) {
  const auto divided = std::find_if(operands.begin(), operands.end(), [](const Operand& o) { return o.have.sharded(); });
  const Placement target = divided->have;
  const auto carried = carry(graph, node, mesh, target);
  if (!carried) return std::nullopt;
  Transfer result;
  for (const Operand& operand : operands) {
    if (operand.have.sharded() && operand.have != target) return std::nullopt;
    const auto& shape = graph.type(operand.value).shape;
    if (shape.size() <= static_cast<std::size_t>(target.dim) || !divides(mesh, target, shape[static_cast<std::size_t>(target.dim)])) return std::nullopt;
    result.wanted.push_back(target);
  }
  result.results.assign(node.outputs.size(), *carried);
  return result;
}

std::optional<Transfer> transfer_reduction(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh) {
  const Placement& have = operands.front().have;
  Transfer result;
  result.wanted.push_back(have);
  if (const auto carried = carry(graph, node, mesh, have)) {
    result.results.assign(node.outputs.size(), *carried);
    return result;
  }
  if (operator_name(node.target) != "sum") return std::nullopt;
  const TokenDim at = have.tokens ? TokenDim{} : token_dim(mesh, node.outputs[0].shape);
  result.results.assign(node.outputs.size(), term(at.dim, at.outer, node.outputs[0].dtype));
  return result;
}

std::optional<Transfer> transfer_softmax(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands,
                                         const Mesh& mesh, Choices& choices) {
  auto result = transfer_elementwise(graph, node, operands, mesh, choices);
  if (!result) return std::nullopt;
  const std::string_view name = operator_name(node.target);
  const bool backward = name.ends_with("_backward_data");
  const int over = from_front(integer_at(node, backward ? 2 : 1).value_or(-1), node.outputs[0].shape.size());
  if (result->results[0].dim != over) return result;
  if (!name.starts_with("_log_softmax") || result->results[0].tokens) return std::nullopt;
  // The gradient of cross entropy needs no other rank: softmax minus one at the target (Megatron-LM, cross_entropy.py).
  if (!backward) result->rewrite = Rewrite::parallel_log_softmax;
  return result;
}

std::optional<Transfer> dispatch(const OperatorGraph& graph, NodeId id, const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices) {
  const Node& node = graph.node(id);
  const Passage kind = passage(node.target);
  if (kind == Passage::product) return transfer_product(graph, id, operands, mesh, choices);
  if (kind == Passage::lookup || kind == Passage::lookup_gradient) return transfer_lookup(graph, node, operands, mesh, choices);
  if (std::all_of(operands.begin(), operands.end(), [](const Operand& o) { return o.have.replicated(); })) {
    return Transfer{std::vector<Placement>(operands.size()), std::vector<Placement>(node.outputs.size())};
  }
  switch (kind) {
    case Passage::elementwise: return transfer_elementwise(graph, node, operands, mesh, choices);
    case Passage::softmax: return transfer_softmax(graph, node, operands, mesh, choices);
    case Passage::reduction: return transfer_reduction(graph, node, operands, mesh);
    case Passage::join: return transfer_join(graph, node, operands, mesh);
    case Passage::norm:
    case Passage::norm_gradient: return transfer_norm(graph, node, operands, mesh);
    case Passage::attention: return transfer_attention(graph, node, operands, mesh);
    case Passage::loss:
    case Passage::loss_gradient: return transfer_loss(graph, node, operands, mesh);
    case Passage::whole_only: return std::nullopt;
    default: return transfer_view(graph, node, operands, mesh);
  }
}

}  // namespace

std::optional<Transfer> transfer(const OperatorGraph& graph, NodeId id, const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices) {
  const Node& node = graph.node(id);
  const bool any_partial = std::any_of(operands.begin(), operands.end(), [](const Operand& o) { return o.have.partial(); });
  std::vector<Operand> settled = operands;
  if (any_partial) {
    if (auto result = transfer_partial(graph, node, operands, mesh, choices)) return result;
    if (auto result = transfer_mixed(graph, node, operands, mesh, choices)) return result;
    for (Operand& operand : settled) {
      if (operand.have.partial()) operand.have = summed(mesh, operand.have);
    }
  }
  if (auto result = dispatch(graph, id, settled, mesh, choices)) return result;
  // What works on whole sequences only gets them gathered.
  bool gathered = false;
  for (Operand& operand : settled) {
    if (!operand.have.tokens || !operand.have.sharded()) continue;
    operand.have = whole();
    gathered = true;
  }
  return gathered ? dispatch(graph, id, settled, mesh, choices) : std::nullopt;
}

}  // namespace sgsim::lower::shard
