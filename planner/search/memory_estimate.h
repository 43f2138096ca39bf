#pragma once

#include <vector>

#include "planner/search/pipeline.h"
#include "planner/search/stage_kinds.h"
#include "planner/search/state_costs.h"
#include "sim/cluster/cluster.h"

namespace sgsim::search {

/// Activations of other passes that are alive while a chunk's pass runs: the most over the step, by stage and virtual stage, bytes.
/// Depends on the layout alone.
[[nodiscard]] std::vector<std::vector<double>> live_beside(const std::vector<std::vector<lower::PassStep>>& orders, const Stages& stages);

/// lower::Memory::reserved of one stage in closed form.
/// `stage`: its index; `beside`: its entry of live_beside.
[[nodiscard]] Bytes reserved_memory(const StateSetting& setting, const LayerCosts& costs, const Stages& stages, std::size_t stage,
                                    const std::vector<double>& beside, const cluster::Gpu& gpu);

/// The part of it that no schedule or recomputation changes: parameters, gradients, optimizer state of the stage. A lower bound.
[[nodiscard]] Bytes state_memory(const StateSetting& setting, double dense, double expert);

}  // namespace sgsim::search
