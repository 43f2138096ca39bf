#pragma once

#include <vector>

#include "planner/search/pipeline.h"
#include "planner/search/stage_kinds.h"
#include "planner/search/state_costs.h"
#include "sim/cluster/cluster.h"

namespace sgsim::search {

/// Activations of other passes that are alive while a chunk's pass runs, the most, bytes: until the stage's first backward pass has ended (its
/// gradients are not all there yet), and after it.
struct Beside {
  double early = 0.0, late = 0.0;
};
/// By stage and virtual stage; depends on the layout alone.
[[nodiscard]] std::vector<std::vector<Beside>> live_beside(const std::vector<std::vector<lower::PassStep>>& orders, const Stages& stages);

/// What one kind of chunk takes while a pass of it runs, above what lives beside it, and what it keeps, bytes.
struct ChunkMemory {
  double early = 0.0, late = 0.0;        // as Beside
  double kept = 0.0, gradients = 0.0;    // from pass to pass
};
[[nodiscard]] ChunkMemory chunk_memory(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

/// Figures::reserved and Figures::needed of one stage in closed form; no step time.
/// `chunk_memory`: by chunk kind; `stage`: its index; `beside`: its entry of live_beside.
[[nodiscard]] Figures stage_memory(const StateSetting& setting, const LayerCosts& costs, const Stages& stages, const std::vector<ChunkMemory>& chunk_memory,
                                    std::size_t stage, const std::vector<Beside>& beside, const cluster::Gpu& gpu);

/// The part of it that no schedule or recomputation changes: parameters, gradients, optimizer state of the stage. A lower bound.
[[nodiscard]] Bytes state_memory(const StateSetting& setting, double dense, double expert);

}  // namespace sgsim::search
