#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::recompute {

/// For each node: whether it is part of the core of an unfused attention: on a forward path, within one position, from one
/// product of two activations to another.
[[nodiscard]] std::vector<bool> attention_core(const graph::OperatorGraph& graph, const segment::Cut& cut);

}  // namespace sgsim::lower::recompute
