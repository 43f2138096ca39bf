#pragma once

#include <vector>

#include "sim/lower/data_parallel/state_types.h"
#include "sim/lower/program/actions.h"

namespace sgsim::lower {

/// What the optimizer of one rank updates.
struct OptimizerShare {
  double elements = 0.0;   // on this rank, after sharding
  int tensors = 0;
  StateTypes types;
  bool operator==(const OptimizerShare&) const = default;
};

/// Kernels of one update. Fused AdamW (torch._fused_adamw_): multi-tensor launches that read and write parameter and both
/// moments and read the gradient; a step-counter update before them. For-loop AdamW: one set of elementwise kernels a
/// parameter (torch.optim.adamw._single_tensor_adamw). SGD without momentum: one pass. A master copy is written back to the parameters.
[[nodiscard]] std::vector<Action> optimizer_actions(const OptimizerShare& share, Optimizer optimizer, bool fused);

/// What reading step counters that lie on the GPU adds before the update: the wait for everything before it, and two small kernels a tensor.
[[nodiscard]] std::vector<Action> read_step_counters(const OptimizerShare& share);

/// Gradient clipping (torch.nn.utils.clip_grad_norm_, foreach): norms of all gradients, their sum over the ranks in `groups`
/// (one scalar all-reduce each), then a scaling pass. The scale stays on the device; no host synchronisation.
[[nodiscard]] std::vector<Action> clip_actions(const OptimizerShare& share, const std::vector<Slot>& groups, Token summed);

/// Bytes of optimizer state for one updated element: moments, and the master copy.
[[nodiscard]] double optimizer_state_bytes(const StateTypes& types, Optimizer optimizer);

}  // namespace sgsim::lower
