#pragma once

#include "planner/search/state_costs.h"

namespace sgsim::search {

/// Passes of a chunk under FSDP or hybrid shard: units gathered ahead of the kernels, reduced behind them, over three micro-batches in
/// a row (what is steady in the middle is taken to repeat), once with the host long ahead and once with the host beginning with the device. Actions,
/// their order and their host time are those of sim/lower/data_parallel/fsdp.h.
[[nodiscard]] ChunkState fsdp_passes(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

}  // namespace sgsim::search
