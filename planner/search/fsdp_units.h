#pragma once

#include <vector>

#include "planner/search/state_costs.h"

namespace sgsim::search {

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

/// What is gathered and reduced together: a unit, or the experts of its layers.
struct Gathered {
  double elements = 0.0, trained = 0.0;   // of all, of those with a gradient
  int tensors = 0, trained_tensors = 0;
  std::size_t first = 0, last = 0;
  bool root = false, expert = false;
};

/// Times of one of them: transfers in seconds, kernels of the framework as runs.
struct UnitTimes {
  double gather = 0.0, reduce = 0.0, replicate = 0.0;
  lower::RunCost copy_in, copy_out, reduce_copy, accumulate, accumulate_shard;
};

/// The units of a chunk as they are gathered: the experts of a unit's layers after it.
[[nodiscard]] std::vector<Gathered> gathered_units(const LayerCosts& costs, const ChunkKind& kind, int layers_per_unit);
[[nodiscard]] UnitTimes unit_times(const StateSetting& setting, const Gathered& unit);

}  // namespace sgsim::search
