#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::cuda_graph_dot {

/// What cudaGraphDebugDotPrint (torch.cuda.CUDAGraph.debug_dump) writes, with or without its verbose flags.
[[nodiscard]] Format format();

/// One rank without times: kernels, copies and sets of the graph in a topological order, with its edges. A child graph stands
/// in place of its node; nodes that do no device work (events, empty nodes, memory nodes) hand their edges on. Throws
/// InputError for a cycle (a shortest one is named) and for a digraph whose nodes are of no kind that CUDA prints.
[[nodiscard]] trace::ImportedRun parse(std::string_view text, const std::string& file);

}  // namespace sgsim::import::cuda_graph_dot
