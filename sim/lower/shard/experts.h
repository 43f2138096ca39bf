#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::lower::shard {

struct ExpertSharded {
  graph::OperatorGraph graph;   // what one rank runs; group name "ep"
  std::vector<bool> expert;     // by node: parameter divided over the group
};

/// Spreads the experts of a mixture over `ep` data-parallel ranks: batched products whose weight is [experts, in, out]
/// work on experts / ep of them, for the rows of all ep ranks (as many rows as before when routing is balanced, which
/// is assumed). Rows go out by an all-to-all before the first product and come back after the last, in the backward pass
/// too; each exchange is followed or preceded by the copy that orders rows by expert.
/// A graph without such products comes back unchanged. SGSIM_CHECKs that ep divides the experts.
[[nodiscard]] ExpertSharded shard_experts(const graph::OperatorGraph& graph, std::int64_t experts, int ep);

}  // namespace sgsim::lower::shard
