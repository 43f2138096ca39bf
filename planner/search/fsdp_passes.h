#pragma once

#include "planner/search/state_costs.h"

namespace sgsim::search {

/// Passes of a chunk under FSDP or hybrid shard: units gathered ahead of the kernels, reduced behind them, over three micro-batches in
/// a row (what is steady in the middle is taken to repeat), once with the host long ahead and once with the host beginning with the device. Actions,
/// their order and their host time are those of sim/lower/data_parallel/fsdp.h.
[[nodiscard]] ChunkState fsdp_passes(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

/// Parameters gathered together: elements, and the positions whose kernels need them (root: none, it is there all the time).
struct UnitPart {
  double elements = 0.0, expert = 0.0;   // all; of experts, which are gathered apart over the ranks that hold the same ones
  double trained = 0.0, trained_expert = 0.0;  // of both, those with a gradient
  int tensors = 0, expert_tensors = 0;   // all; of experts
  int trained_tensors = 0, trained_expert_tensors = 0;
  std::size_t first = 0, last = 0;
  bool root = false;
};
[[nodiscard]] std::vector<UnitPart> units_of(const LayerCosts& costs, const ChunkKind& kind, int layers_per_unit);

}  // namespace sgsim::search
