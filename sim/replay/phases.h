#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// One pass of one micro-batch through a stage, or what is outside of all of them. Device operations in host order, sends and receives of
/// pipeline neighbours left out.
struct Pass {
  bool forward = true;
  std::vector<std::uint32_t> ops;
  Nanoseconds busy = 0;                 // sum of their durations
};

/// What a captured stage did in one step.
struct StagePasses {
  std::vector<Pass> forward, backward;  // by micro-batch
  Pass before, after;                   // before the first pass; after the last backward pass: optimizer, gathers
  std::vector<std::uint32_t> sends;     // RankTrace::collectives that pass something to a neighbour, in order
};

/// Cuts a rank's step into passes: by annotations "forward ..." and "backward ..." whose id is the micro-batch (timelines of sgsim simulate), else by the autograd engine's operators and, where it has one of its own, thread (backward)
/// and "Optimizer.step" annotations, where passes of one kind end at a send or receive. `is_pair`: by collective, whether it is one of those.
/// Of several steps the last one is taken. Throws InputError where forward and backward passes are not `micro_batches` each.
[[nodiscard]] StagePasses find_passes(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& dependencies, const std::vector<bool>& is_pair, int micro_batches);

/// Whether an operation's layer label names one of the model's repeated layers ("model.layers.3.mlp", "DecoderLayer_3").
[[nodiscard]] bool names_layer(std::string_view label);

}  // namespace sgsim::replay
