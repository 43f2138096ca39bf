#include <algorithm>

#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/rules.h"

namespace sgsim::lower::shard {
namespace {

using graph::Node;
using graph::OperatorGraph;
using graph::Phase;
using graph::TensorType;

/// The operand's dimension that lines up with dimension `dim` of a result of `rank` dimensions; -1 where it has none or
/// is broadcast along it.
int lined_up(const TensorType& operand, int dim, std::size_t rank) {
  const int own = dim - static_cast<int>(rank - operand.shape.size());
  return own < 0 || operand.shape[static_cast<std::size_t>(own)] == 1 ? -1 : own;
}

}  // namespace

std::optional<Transfer> transfer_elementwise(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands,
                                             const Mesh& mesh, Choices& choices) {
  const std::size_t rank = node.outputs[0].shape.size();
  Placement target;
  for (const Operand& operand : operands) {  // features before tokens
    if (!operand.have.sharded() || (target.sharded() && !(target.tokens && operand.have.features()))) continue;
    target = on(operand.have, operand.have.dim + static_cast<int>(rank - graph.type(operand.value).shape.size()));
  }
  Transfer result;
  for (const Operand& operand : operands) {
    const TensorType& type = graph.type(operand.value);
    const int own = lined_up(type, target.dim, rank);
    const Placement wanted = own < 0 ? whole() : on(target, own);
    if (operand.have.features() && operand.have != wanted) return std::nullopt;
    // The residual stream is not cut to fit a divided product; what no gradient flows through (a mask) and weights are.
    const bool stream = choices.trained[operand.value.node.value] && !choices.weights.parameter(operand.value);
    if (wanted.features() && !operand.have.features() && stream && node.phase == Phase::forward) return std::nullopt;
    if (wanted.sharded() && !divides(mesh, wanted, type.shape[static_cast<std::size_t>(own)])) return std::nullopt;
    const auto parameter = choices.weights.parameter(operand.value);
    if (parameter && wanted.features() && node.phase == Phase::forward && !choices.weights.decided(*parameter)) {
      choices.weights.decide(operand.value, wanted);
    }
    result.wanted.push_back(wanted);
  }
  result.results.assign(node.outputs.size(), target);
  return result;
}

std::optional<Transfer> transfer_attention(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh) {
  // Heads are dimension 1 of q, k, v, of the result, of their gradients and of the statistics [batch, heads, length(, 1)].
  constexpr int kHeads = 1;
  const Placement target = split(kHeads);
  Transfer result;
  for (const Operand& operand : operands) {
    const auto& shape = graph.type(operand.value).shape;
    if (operand.have.sharded() && operand.have != target) return std::nullopt;
    const bool per_head = shape.size() >= 3 && shape[kHeads] != 1;
    if (per_head && !divides(mesh, target, shape[kHeads])) return std::nullopt;
    result.wanted.push_back(per_head ? target : whole());
  }
  for (const TensorType& type : node.outputs) result.results.push_back(type.shape.size() >= 3 && type.shape[kHeads] != 1 ? target : whole());
  return result;
}

std::optional<Transfer> transfer_norm(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh) {
  const bool gradient = passage(node.target) == Passage::norm_gradient;
  const auto x = tensor_at(node, gradient ? 1 : 0);
  const auto normalized = integers_at(node, gradient ? 2 : 1);
  if (!x || !normalized) return std::nullopt;
  const std::size_t rank = graph.type(*x).shape.size();
  Placement target;
  for (const Operand& operand : operands) {
    if (!operand.have.sharded()) continue;
    if (target.sharded() && operand.have != target) return std::nullopt;
    target = operand.have;
  }
  if (target.dim >= static_cast<int>(rank - normalized->size())) return std::nullopt;
  Transfer result;
  for (const Operand& operand : operands) {
    const auto& shape = graph.type(operand.value).shape;
    const bool activation = shape.size() == rank;
    if (activation && !divides(mesh, target, shape[static_cast<std::size_t>(target.dim)])) return std::nullopt;
    result.wanted.push_back(activation ? target : whole());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool of_weight = gradient && i > 0;
    result.results.push_back(of_weight ? term(-1, 1, node.outputs[i].dtype) : target);
  }
  return result;
}

std::optional<Transfer> transfer_lookup(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices) {
  if (operands.size() != 2) return std::nullopt;
  Placement rows = split(0);
  rows.vocabulary = true;
  if (passage(node.target) == Passage::lookup) {
    const auto parameter = choices.weights.parameter(operands[0].value);
    const bool vocabulary = mesh.vocabulary != 0 && parameter && graph.type(operands[0].value).shape[0] == mesh.vocabulary;
    if (vocabulary && !choices.weights.decided(*parameter)) choices.weights.decide(operands[0].value, rows);
    const Placement table = parameter ? choices.weights.placement(operands[0].value) : operands[0].have;
    if (table == rows) {
      choices.parallel_lookup = true;
      const TokenDim at = token_dim(mesh, node.outputs[0].shape);
      return Transfer{{rows, whole()}, {term(at.dim, at.outer, node.outputs[0].dtype)}};
    }
    if (!table.replicated()) return std::nullopt;
    // Under sequence parallelism the residual stream is divided from its start: each rank looks up its own tokens.
    const TokenDim at = token_dim(mesh, graph.type(operands[1].value).shape);
    if (mesh.sequence_parallel && at.dim >= 0 && operands[1].have.replicated()) {
      const Placement tokens = split(at.dim, true, at.outer);
      return Transfer{{whole(), tokens}, {tokens}};
    }
    return Transfer{{whole(), operands[1].have}, {operands[1].have}};
  }
  if (choices.parallel_lookup && integer_at(node, 2) == mesh.vocabulary) return Transfer{{whole(), whole()}, {rows}};
  const Placement& gradient = operands[0].have;
  if (gradient.features()) return std::nullopt;
  if (gradient.replicated()) return Transfer{{whole(), whole()}, {whole()}};
  const int dim = lined_up(graph.type(operands[1].value), gradient.dim, graph.type(operands[0].value).shape.size() - 1);
  return Transfer{{gradient, dim < 0 ? whole() : on(gradient, dim)}, {term(-1, 1, node.outputs[0].dtype)}};
}

std::optional<Transfer> transfer_loss(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands, const Mesh&) {
  const bool gradient = passage(node.target) == Passage::loss_gradient;
  const std::size_t self = gradient ? 1 : 0, target = gradient ? 2 : 1;  // positional arguments
  Placement scores;
  for (const Operand& operand : operands) {
    if (operand.position == self) scores = operand.have;
    else if (operand.have.features()) return std::nullopt;
  }
  if (scores.sharded() && scores.dim != (scores.tokens ? 0 : 1)) return std::nullopt;
  const bool over_tokens = scores.sharded() && scores.tokens;
  Transfer result;
  for (const Operand& operand : operands) {
    if (operand.position == self) result.wanted.push_back(scores);
    else if (operand.position == target && over_tokens) result.wanted.push_back(on(scores, 0));
    else result.wanted.push_back(whole());
  }
  if (gradient) {
    result.results = {scores};
    return result;
  }
  if (scores.features()) result.rewrite = Rewrite::parallel_loss;
  for (const TensorType& type : node.outputs) result.results.push_back(over_tokens ? term(-1, 1, type.dtype) : whole());
  (void)graph;
  return result;
}

}  // namespace sgsim::lower::shard
