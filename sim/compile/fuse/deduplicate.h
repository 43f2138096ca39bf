#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/operator_table.h"
#include "sim/graph/graph.h"

namespace sgsim::compile::fuse {

/// For each node the first node that computes the same: same target and arguments after this replacement itself. Itself for
/// sources, for operators that draw random numbers, and for those with side effects. (AOTAutograd does the same to the
/// joint graph before it is partitioned.)
[[nodiscard]] std::vector<std::uint32_t> same_computation(const graph::OperatorGraph& graph, const OperatorTable& operators);

/// Nodes whose results are needed by outputs, gradients or side effects, when duplicates are replaced.
[[nodiscard]] std::vector<char> live_nodes(const graph::OperatorGraph& graph, const OperatorTable& operators,
                                           const std::vector<std::uint32_t>& same_as);

}  // namespace sgsim::compile::fuse
