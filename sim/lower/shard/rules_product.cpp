#include <optional>

#include "sim/core/error.h"
#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/rules.h"

namespace sgsim::lower::shard {
namespace {

using graph::Node;
using graph::OperatorGraph;
using graph::Phase;

/// Dimensions of a product [batch] x rows x inner times [batch] x inner x columns.
enum class Axis : std::uint8_t { none, batch, rows, inner, columns };

struct Factors {
  int rank = 2;
  std::size_t left = 0, right = 1;  // places in the list of operands
  std::optional<std::size_t> bias;
};

Factors factors(const OperatorGraph& graph, const Node& node, const std::vector<Operand>& operands) {
  const std::string_view name = operator_name(node.target);
  Factors result;
  if (name == "addmm" || name == "baddbmm") result = {.rank = 2, .left = 1, .right = 2, .bias = 0};
  result.rank = static_cast<int>(graph.type(operands[result.left].value).shape.size());
  return result;
}

Axis left_axis(const Placement& placement, int rank) {
  if (!placement.sharded()) return Axis::none;
  if (placement.dim == rank - 1) return Axis::inner;
  return placement.dim == rank - 2 ? Axis::rows : Axis::batch;
}
Axis right_axis(const Placement& placement, int rank) {
  if (!placement.sharded()) return Axis::none;
  if (placement.dim == rank - 1) return Axis::columns;
  return placement.dim == rank - 2 ? Axis::inner : Axis::batch;
}

/// The first weight of an adapter (PEFT's name for it) is a handful of columns: every rank keeps all of them where its input is whole.
bool adapter_input(const OperatorGraph& graph, NodeId parameter) { return graph.node(parameter).name.ends_with(".lora_A.weight"); }

/// The first product of a weight decides how the weight is divided: by columns when the activation is whole (or divided
/// over tokens, then gathered), by rows when the activation comes divided from column-parallel products.
void decide_weight(const OperatorGraph& graph, NodeId id, const Operand& left, Operand& right, const Mesh& mesh, Choices& choices) {
  const Node& node = graph.node(id);
  const auto parameter = choices.weights.parameter(right.value);
  if (node.phase != Phase::forward || !parameter || choices.weights.parameter(left.value)) return;
  const auto& shape = graph.type(right.value).shape;
  const int rank = static_cast<int>(shape.size());
  const std::int64_t columns = shape.back();
  const bool decided = choices.weights.decided(*parameter);
  const Axis axis = left_axis(left.have, rank);
  if (!decided && axis == Axis::inner && left.have.features()) {
    if (!divides(mesh, split(rank - 2), shape[static_cast<std::size_t>(rank - 2)])) return;
    choices.weights.decide(right.value, split(rank - 2));
  } else if (!decided && (axis == Axis::none || left.have.tokens)) {
    if (choices.kept_whole.contains(id) || columns == mesh.whole_columns || adapter_input(graph, *parameter)) return;
    Placement placement = split(rank - 1);
    placement.vocabulary = mesh.vocabulary != 0 && columns == mesh.vocabulary;
    if (!divides(mesh, placement, columns)) {
      choices.kept_whole.insert(id);
      return;
    }
    choices.weights.decide(right.value, placement);
  }
  right.have = choices.weights.placement(right.value);
  if (right_axis(right.have, rank) == Axis::columns) choices.columns.insert(id);
}

Transfer made(std::vector<Placement> wanted, const Placement& result, const Node& node) {
  return {std::move(wanted), std::vector<Placement>(node.outputs.size(), result)};
}

/// Result and wanted factors; tokens give way to features where both meet.
std::optional<Transfer> multiply(const Node& node, Placement a, Placement b, int rank, const Mesh& mesh) {
  if (a.sharded() && b.sharded() && a.tokens != b.tokens) (a.tokens ? a : b) = whole();
  const Axis left = left_axis(a, rank), right = right_axis(b, rank);
  if (left == Axis::none && right == Axis::none) return made({a, b}, whole(), node);
  if (left == Axis::rows && right == Axis::none) return made({a, b}, a, node);
  if (left == Axis::none && right == Axis::columns) return made({a, b}, b, node);
  const bool batch = (left == Axis::batch || left == Axis::none) && (right == Axis::batch || right == Axis::none);
  if (batch) {
    const Placement& shared = left == Axis::batch ? a : b;
    if (left == right && a != b) return std::nullopt;
    return made({shared, shared}, shared, node);
  }
  const bool inner = (left == Axis::inner || left == Axis::none) && (right == Axis::inner || right == Axis::none);
  if (!inner) return std::nullopt;
  const Placement& shared = left == Axis::inner ? a : b;
  if (left == right && (a.tokens != b.tokens || a.outer != b.outer)) return std::nullopt;
  const TokenDim at = shared.tokens ? TokenDim{} : token_dim(mesh, node.outputs[0].shape);
  return made({on(shared, rank - 1), on(shared, rank - 2)}, term(at.dim, at.outer, node.outputs[0].dtype), node);
}

/// What the bias (addmm) or addend (baddbmm) must be.
void place_bias(const OperatorGraph& graph, const Node& node, const Operand& bias, const Mesh& mesh, Choices& choices, Transfer& transfer) {
  Placement& result = transfer.results[0];
  Placement wanted = whole();
  const std::size_t missing = node.outputs[0].shape.size() - graph.type(bias.value).shape.size();
  if (result.partial()) {
    transfer.rewrite = Rewrite::bias_after_sum;
    result = summed(mesh, result);
  }
  if (result.sharded() && static_cast<std::size_t>(result.dim) >= missing) {
    const int dim = result.dim - static_cast<int>(missing);
    if (graph.type(bias.value).shape[static_cast<std::size_t>(dim)] != 1) wanted = on(result, dim);
  }
  const auto parameter = choices.weights.parameter(bias.value);
  if (parameter && wanted.features() && !choices.weights.decided(*parameter)) choices.weights.decide(bias.value, wanted);
  transfer.wanted.insert(transfer.wanted.begin(), wanted);
}

}  // namespace

std::optional<Transfer> transfer_product(const OperatorGraph& graph, NodeId id, const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices) {
  const Node& node = graph.node(id);
  const Factors at = factors(graph, node, operands);
  if (operands.size() <= at.right) return std::nullopt;
  const Operand& left = operands[at.left];
  Operand right = operands[at.right];
  decide_weight(graph, id, left, right, mesh, choices);
  auto result = multiply(node, left.have, right.have, at.rank, mesh);
  if (!result) return std::nullopt;
  if (at.bias) place_bias(graph, node, operands[*at.bias], mesh, choices, *result);
  const bool at_once = mesh.reduce_each_product && node.phase == Phase::backward && result->results[0].partial() && result->results[0].dim >= 0;
  if (at_once) {
    result->rewrite = Rewrite::sum_at_once;
    result->results[0] = summed(mesh, result->results[0]);
  }
  return result;
}

}  // namespace sgsim::lower::shard
