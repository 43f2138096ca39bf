#pragma once

#include "sim/compile/breaks.h"
#include "sim/compile/fuse/program.h"
#include "sim/compile/value_table.h"
#include "sim/core/diagnostics.h"

namespace sgsim::compile::fuse {

/// The graph's live, distinct operators as elementary ones: norms, softmaxes and losses become the reductions and pointwise
/// operators that Inductor's decompositions give (torch/_decomp/decompositions.py, torch/_inductor/decomposition.py).
/// Operators outside the table become `opaque` and are counted in `diagnostics` ("compile.unknown_operator").
[[nodiscard]] Program decompose(const graph::OperatorGraph& graph, const OperatorTable& operators, const ValueTable& table, const BrokenGraph& broken,
                                const std::vector<std::uint32_t>& same_as, const std::vector<char>& live,
                                Diagnostics& diagnostics);

}  // namespace sgsim::compile::fuse
