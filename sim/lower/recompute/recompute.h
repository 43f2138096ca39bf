#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/segment/cut.h"
#include "sim/plan/plan.h"

namespace sgsim::lower::recompute {

struct Recomputed {
  graph::OperatorGraph graph;
  std::vector<bool> again;            // by node: a forward operator run again in the backward pass
  std::vector<std::uint32_t> source;  // by node: its node in the graph before, also of copies
  std::vector<plan::Note> notes;
};

/// Runs forward operators again before the backward operators that read their results, so that those results need not be
/// kept. `choice` is by position of the cut ("before" and "after" are never recomputed).
/// full: all operators of the layer, its collectives too, from its input. selective: the core of unfused attention, from
/// the product of queries and keys to the product with the values, both included (Korthikanti et al. 2022, section 5);
/// the core's result is kept. Fused attention keeps no scores, so selective finds nothing to do and says so.
/// `everything`: also operators whose results the backward pass does not read are run again, as a checkpointed eager
/// layer does (its last product and sum over ranks among them); else only what is needed, as a compiler leaves it.
[[nodiscard]] Recomputed recompute(const graph::OperatorGraph& graph, const segment::Cut& cut,
                                   const std::vector<plan::Recompute>& choice, bool everything);

}  // namespace sgsim::lower::recompute
