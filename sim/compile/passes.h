#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// What a graph breaks, one line each ("mm_3: output [4096, 8192] where its operands give [4096, 1024]"); empty: sound.
/// Checks: topological order, shapes and types of every known operator, every parameter's gradient present and of the
/// parameter's shape, no dangling reference.
[[nodiscard]] std::vector<std::string> verify(const graph::OperatorGraph& graph);

/// Inserts casts as torch.autocast does (matmuls, convolutions, attention in `dtype`; softmax, losses, norms in float32).
/// A captured graph that already has its casts is left unchanged.
[[nodiscard]] graph::OperatorGraph autocast(const graph::OperatorGraph& graph, graph::DType dtype);

/// Operators to kernels. eager: one kernel an operator (views and other free operators none). compiled and cuda_graph:
/// pointwise and reduction chains fused as Inductor would, each with the bytes it moves. Unknown operators are priced by
/// their bytes and counted in `diagnostics` ("compile.unknown_operator").
[[nodiscard]] CompiledGraph compile(const graph::OperatorGraph& graph, Execution execution, Diagnostics& diagnostics);
/// Only the kernels: for callers that keep the graph themselves (copying it takes as long as a stage of compilation).
[[nodiscard]] std::vector<Kernel> kernels_of(const graph::OperatorGraph& graph, Execution execution, Diagnostics& diagnostics);

}  // namespace sgsim::compile
