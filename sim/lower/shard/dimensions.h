#pragma once

#include <optional>

#include "sim/graph/graph.h"
#include "sim/lower/shard/placement.h"

namespace sgsim::lower::shard {

/// Operators grouped by how a divided dimension passes through them.
enum class Passage : std::uint8_t {
  elementwise,       // same shape up to broadcast: pointwise, casts, clones, dropout
  transpose, move,   // t, transpose, permute: dimensions change places
  reshape,           // view, reshape, _unsafe_view
  expand, unsqueeze, squeeze, slice, select, divide, join,  // divide: split, chunk; join: cat
  slice_gradient,    // slice_backward
  reduction,         // sum, mean, amax over some dimensions
  softmax,           // over one dimension; and its backward
  norm, norm_gradient,
  product,           // mm, addmm, bmm, baddbmm
  attention,         // fused, both passes
  lookup, lookup_gradient,  // embedding
  loss, loss_gradient,      // nll_loss
  whole_only,        // anything else: operands must be whole
};
[[nodiscard]] Passage passage(std::string_view target);

/// The operator's name without namespace and overload: "mm" of "aten.mm.default".
[[nodiscard]] std::string_view operator_name(std::string_view target);
/// A dimension counted from the front.
[[nodiscard]] int from_front(std::int64_t dim, std::size_t rank);
/// Positional arguments as constants.
[[nodiscard]] std::optional<std::int64_t> integer_at(const graph::Node& node, std::size_t position);
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(const graph::Node& node, std::size_t position);
/// The tensor at a positional argument.
[[nodiscard]] std::optional<graph::ValueRef> tensor_at(const graph::Node& node, std::size_t position);

/// Where a dimension of a node's first operand (or of any operand of `join`) stands in its result: of views, reductions,
/// joins and slice gradients. Nothing where it disappears or is mixed with others (a slice along the dimension itself,
/// a reshape that cuts through it). `placement.outer` follows flattening and unflattening.
[[nodiscard]] std::optional<Placement> carry(const graph::OperatorGraph& graph, const graph::Node& node, const Mesh& mesh,
                                             const Placement& placement);

}  // namespace sgsim::lower::shard
