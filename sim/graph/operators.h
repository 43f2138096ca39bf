#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/graph/collective.h"
#include "sim/graph/graph.h"

namespace sgsim::graph {

/// What an operator is to the compiler and to the cost model.
enum class OperatorClass : std::uint8_t {
  view,         // a new look at the same memory: no kernel, no bytes (t, transpose, view, slice, split, expand, detach)
  pointwise,    // one output element from the elements at the same place (broadcast allowed)
  reduction,    // sum, mean, amax, cumsum: many elements to one, or a scan
  matmul,       // mm, addmm, bmm, baddbmm, linear, matmul
  attention,    // fused scaled dot product attention and its backward
  convolution,
  norm,         // layer, batch, group norm and their backward
  softmax,      // softmax, log_softmax and their backward
  loss,         // nll_loss and its backward
  embedding,    // row gather by index, and its backward (scatter-add)
  random,       // draws numbers: dropout, rand, bernoulli
  copy,         // clone, _to_copy, contiguous: moves or casts, pointwise for fusion
  index,        // gather, scatter, index, topk, sort, cat, pad: data moves by position
  pool,
  collective,   // functional collectives (_c10d_functional.*)
  factory,      // arange, full, zeros: writes without reading
  unknown,
};

/// Class of an aten (or c10d functional) operator by its target, "aten.mm.default". `unknown` for a target that the
/// table does not have: price it by its bytes and say so.
[[nodiscard]] OperatorClass classify(std::string_view target);
[[nodiscard]] std::string_view to_text(OperatorClass operator_class);
/// True when the operator's result shares its first operand's memory.
[[nodiscard]] inline bool is_view(std::string_view target) { return classify(target) == OperatorClass::view; }

/// Shapes, types and strides of an operator's results from its operands' (graph.type of its inputs), as PyTorch gives
/// them on CUDA. Nothing when the operator is unknown to the table or its operands do not fit it. Not for nodes that are no
/// calls. Strides follow PyTorch for views, matrix products, attention and dense pointwise operands; elsewhere row-major.
[[nodiscard]] std::optional<std::vector<TensorType>> infer(const OperatorGraph& graph, const Node& node);

/// Which collective a functional-collective operator is; nothing for wait_tensor and others that move no data.
[[nodiscard]] std::optional<CollectiveOp> collective_of(std::string_view target);

/// Element type that a pointwise operator computes in, given its tensor operands (torch.result_type).
[[nodiscard]] DType promote(DType a, DType b);
/// Broadcast of two shapes; nothing when they do not fit.
[[nodiscard]] std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                                 const std::vector<std::int64_t>& b);

}  // namespace sgsim::graph
