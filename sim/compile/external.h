#pragma once

#include <string>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// A kernel that a library gives for an operator, before it is placed: what it is called and what it computes.
struct NamedWork {
  std::string name;
  graph::Work work;
};

/// True for operators whose kernel comes from a library in every execution mode (matrix products, fused attention,
/// convolutions, sort and topk): fusion stops at them.
[[nodiscard]] bool is_external(const graph::Node& node);

/// Library kernels of such an operator, in launch order: one a matrix product or attention pass, one a convolution gradient.
/// Helper kernels of cuDNN's attention backward (dot product of dO and O, conversion of dQ) are part of its one entry.
[[nodiscard]] std::vector<NamedWork> external_work(const graph::OperatorGraph& graph, const graph::Node& node);

/// The collective of a functional-collective node. Throws InputError for one that names no group.
[[nodiscard]] Communication communication_of(const graph::OperatorGraph& graph, const graph::Node& node);

}  // namespace sgsim::compile
