#include "sim/lower/shard/dimensions.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "sim/graph/operators.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::OperatorGraph;
using graph::ValueRef;

using Shape = std::vector<std::int64_t>;

const std::unordered_map<std::string_view, Passage>& passages() {
  using enum Passage;
  static const std::unordered_map<std::string_view, Passage> table = {
      {"detach", elementwise}, {"alias", elementwise}, {"lift_fresh", elementwise}, {"contiguous", elementwise},
      {"t", transpose}, {"transpose", transpose}, {"permute", move},
      {"view", reshape}, {"reshape", reshape}, {"_unsafe_view", reshape}, {"_reshape_alias", reshape},
      {"expand", expand}, {"unsqueeze", unsqueeze}, {"squeeze", squeeze}, {"slice", slice}, {"select", select},
      {"split", divide}, {"split_with_sizes", divide}, {"cat", join}, {"slice_backward", slice_gradient},
      {"sum", reduction}, {"mean", reduction}, {"amax", reduction}, {"amin", reduction}, {"any", reduction}, {"all", reduction},
      {"_softmax", softmax}, {"_log_softmax", softmax}, {"_softmax_backward_data", softmax}, {"_log_softmax_backward_data", softmax},
      {"native_layer_norm", norm}, {"_fused_rms_norm", norm},
      {"native_layer_norm_backward", norm_gradient}, {"_fused_rms_norm_backward", norm_gradient},
      {"mm", product}, {"addmm", product}, {"bmm", product}, {"baddbmm", product},
      {"embedding", lookup}, {"embedding_dense_backward", lookup_gradient},
      {"nll_loss_forward", loss}, {"nll_loss_backward", loss_gradient},
      {"triu", whole_only}, {"tril", whole_only},
      {"permute_tensor", elementwise}, {"all_gather_into_tensor", elementwise},  // along the first dimension, of context parallelism
  };
  return table;
}

Placement moved_to(const Placement& placement, int dim, std::int64_t outer) {
  Placement result = placement;
  result.dim = dim;
  result.outer = outer;
  return result;
}

/// Through a reshape: the divided part keeps its place in the flattened order of elements.
std::optional<Placement> through_reshape(const Shape& from, const Shape& to, const Mesh& mesh, const Placement& placement) {
  const auto dim = static_cast<std::size_t>(placement.dim);
  std::int64_t before = placement.outer;  // elements of the dimensions in front of the divided part
  for (std::size_t i = 0; i < dim; ++i) before *= from[i];
  std::int64_t prefix = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (before < prefix * to[i] && before >= prefix) {
      if (before % prefix != 0) return std::nullopt;
      const Placement result = moved_to(placement, static_cast<int>(i), before / prefix);
      if (placement.vocabulary && (to[i] != from[dim] || result.outer != 1)) return std::nullopt;
      if (placement.sharded() && !divides(mesh, result, to[i])) return std::nullopt;
      return result;
    }
    prefix *= to[i];
  }
  return std::nullopt;
}

std::optional<Placement> through_slice(const Node& node, const Shape& from, const Mesh& mesh, const Placement& placement, std::size_t first) {
  const int dim = from_front(integer_at(node, first).value_or(0), from.size());
  if (dim != placement.dim) return placement;
  const std::int64_t size = from[static_cast<std::size_t>(dim)];
  const std::int64_t start = integer_at(node, first + 1).value_or(0);
  const std::int64_t end = std::min(integer_at(node, first + 2).value_or(size), size);
  const std::int64_t step = integer_at(node, first + 3).value_or(1);
  if (start == 0 && end == size && step == 1) return placement;
  // A slice of fused columns (q, k, v side by side): each rank holds its share of each of them.
  const bool shares = placement.features() && !placement.vocabulary && placement.outer == 1 && step == 1 && start >= 0 && end > start;
  if (!shares || start % mesh.tp != 0 || end % mesh.tp != 0 || (end - start) % mesh.tp != 0) return std::nullopt;
  return placement;
}

std::optional<Placement> through_divide(const Node& node, const Shape& from, const Mesh& mesh, const Placement& placement) {
  const int dim = from_front(integer_at(node, 2).value_or(0), from.size());
  if (dim != placement.dim) return placement;
  if (placement.tokens || placement.vocabulary || placement.partial() || placement.outer != 1) return std::nullopt;
  Shape sizes = integers_at(node, 1).value_or(Shape{});
  if (const auto one = integer_at(node, 1)) sizes = {*one};
  const bool divisible = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size % mesh.tp == 0; });
  if (!divisible) return std::nullopt;
  return placement;
}

std::optional<Placement> through_reduction(const Node& node, const Shape& from, const Placement& placement) {
  const auto listed = integers_at(node, 1);
  std::vector<int> dims;
  if (listed) {
    for (std::int64_t dim : *listed) dims.push_back(from_front(dim, from.size()));
  }
  if (dims.empty()) return std::nullopt;  // over everything
  if (std::find(dims.begin(), dims.end(), placement.dim) != dims.end()) return std::nullopt;
  bool keep = false;
  if (node.args.size() > 2) {
    if (const auto* flag = std::get_if<bool>(&node.args[2].value)) keep = *flag;
  }
  if (keep) return placement;
  const auto gone = std::count_if(dims.begin(), dims.end(), [&](int dim) { return dim < placement.dim; });
  return on(placement, placement.dim - static_cast<int>(gone));
}

std::optional<Placement> through_squeeze(const Node& node, const Shape& from, const Placement& placement) {
  std::vector<int> dims;
  if (const auto one = integer_at(node, 1)) {
    dims.push_back(from_front(*one, from.size()));
  } else if (const auto several = integers_at(node, 1)) {
    for (std::int64_t dim : *several) dims.push_back(from_front(dim, from.size()));
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) dims.push_back(static_cast<int>(i));
  }
  int gone = 0;
  for (int dim : dims) {
    if (from[static_cast<std::size_t>(dim)] != 1) continue;
    if (dim == placement.dim) return std::nullopt;
    if (dim < placement.dim) ++gone;
  }
  return on(placement, placement.dim - gone);
}

std::optional<Placement> through_move(const Node& node, const Shape& from, const Placement& placement) {
  if (operator_name(node.target) == "t") return from.size() == 2 ? on(placement, 1 - placement.dim) : placement;
  if (passage(node.target) == Passage::transpose) {
    const int a = from_front(integer_at(node, 1).value_or(0), from.size());
    const int b = from_front(integer_at(node, 2).value_or(1), from.size());
    if (placement.dim == a) return on(placement, b);
    return placement.dim == b ? on(placement, a) : placement;
  }
  const auto order = integers_at(node, 1);
  if (!order) return std::nullopt;
  for (std::size_t i = 0; i < order->size(); ++i) {
    if (from_front((*order)[i], from.size()) == placement.dim) return on(placement, static_cast<int>(i));
  }
  return std::nullopt;
}

}  // namespace

std::string_view operator_name(std::string_view target) {
  const auto first = target.find('.');
  if (first == std::string_view::npos) return target;
  const std::string_view rest = target.substr(first + 1);
  return rest.substr(0, rest.find('.'));
}

Passage passage(std::string_view target) {
  const auto& table = passages();
  const auto found = table.find(operator_name(target));
  if (found != table.end()) return found->second;
  switch (graph::classify(target)) {
    case graph::OperatorClass::pointwise:
    case graph::OperatorClass::copy:
    case graph::OperatorClass::random: return Passage::elementwise;
    case graph::OperatorClass::attention: return Passage::attention;
    default: return Passage::whole_only;
  }
}

int from_front(std::int64_t dim, std::size_t rank) {
  return static_cast<int>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

std::optional<std::int64_t> integer_at(const Node& node, std::size_t position) {
  if (position >= node.args.size()) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&node.args[position].value)) return *integer;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> integers_at(const Node& node, std::size_t position) {
  if (position >= node.args.size()) return std::nullopt;
  const auto* list = std::get_if<ArgumentList>(&node.args[position].value);
  if (list == nullptr) return std::nullopt;
  Shape integers;
  for (const Argument& item : *list) {
    const auto* integer = std::get_if<std::int64_t>(&item.value);
    if (integer == nullptr) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

std::optional<ValueRef> tensor_at(const Node& node, std::size_t position) {
  if (position >= node.args.size()) return std::nullopt;
  if (const auto* v = std::get_if<ValueRef>(&node.args[position].value)) return *v;
  return std::nullopt;
}

std::optional<Placement> carry(const OperatorGraph& graph, const Node& node, const Mesh& mesh, const Placement& placement) {
  if (placement.dim < 0) return placement;
  const auto operand = tensor_at(node, 0);
  const Shape none;
  const Shape& from = operand ? graph.type(*operand).shape : none;
  const Shape& to = node.outputs.at(0).shape;
  switch (passage(node.target)) {
    case Passage::transpose:
    case Passage::move: return through_move(node, from, placement);
    case Passage::reshape: return through_reshape(from, to, mesh, placement);
    case Passage::expand: return on(placement, placement.dim + static_cast<int>(to.size() - from.size()));
    case Passage::unsqueeze: {
      const int dim = from_front(integer_at(node, 1).value_or(0), to.size());
      return on(placement, placement.dim + (dim <= placement.dim ? 1 : 0));
    }
    case Passage::squeeze: return through_squeeze(node, from, placement);
    case Passage::slice: return through_slice(node, from, mesh, placement, 1);
    case Passage::select: {
      const int dim = from_front(integer_at(node, 1).value_or(0), from.size());
      if (dim == placement.dim) return std::nullopt;
      return on(placement, placement.dim - (dim < placement.dim ? 1 : 0));
    }
    case Passage::divide: return through_divide(node, from, mesh, placement);
    case Passage::join: {
      const int dim = from_front(integer_at(node, 1).value_or(0), to.size());
      if (dim == placement.dim && (placement.tokens || placement.vocabulary || placement.outer != 1)) return std::nullopt;
      return placement;
    }
    case Passage::slice_gradient: return through_slice(node, to, mesh, placement, 2);
    case Passage::reduction: return through_reduction(node, from, placement);
    case Passage::elementwise: return placement;
    default: return std::nullopt;
  }
}

}  // namespace sgsim::lower::shard
