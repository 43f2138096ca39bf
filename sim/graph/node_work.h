#pragma once

#include <optional>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/graph/work.h"

namespace sgsim::graph {

/// The matrix product that a mm, addmm, bmm, baddbmm, linear or matmul node is; nothing for other nodes. Operand layouts are
/// read from the operands' strides, so views (t, transpose, permute) need no chasing. A product with an operand that is
/// neither row- nor column-major (cuBLAS needs a copy first) counts as row-major.
[[nodiscard]] std::optional<Matmul> matmul_of(const OperatorGraph& graph, const Node& node);
/// The fused attention that a _scaled_dot_product_{cudnn,flash,efficient}_attention[_backward] node is.
[[nodiscard]] std::optional<Attention> attention_of(const OperatorGraph& graph, const Node& node);
/// The convolutions of a convolution node (one) or of a convolution_backward node (the gradients that its output mask asks for).
[[nodiscard]] std::vector<Convolution> convolutions_of(const OperatorGraph& graph, const Node& node);

template <class Kind>
struct NodeWork {
  NodeId node;
  Phase phase = Phase::forward;
  Kind work;
};
/// All matrix products, fused attentions and convolutions of a graph, in node order.
[[nodiscard]] std::vector<NodeWork<Matmul>> matmuls_of(const OperatorGraph& graph);
[[nodiscard]] std::vector<NodeWork<Attention>> attentions_of(const OperatorGraph& graph);
[[nodiscard]] std::vector<NodeWork<Convolution>> convolutions_of(const OperatorGraph& graph);

}  // namespace sgsim::graph
