#pragma once

#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/plan/plan.h"

namespace sgsim::plan {

/// Every rule the plan breaks, with its numbers and what would do; empty: legal. Zero fields of `model` (an image model
/// has no heads) switch their rules off.
[[nodiscard]] std::vector<Violation> check_plan(const ModelShape& model, const Plan& plan, const cluster::Cluster& cluster);

/// Whether gradients and parameters stay between the two backward passes of a zero-bubble schedule (rule zero_bubble_sharding): PyTorch's
/// pipeline stages hold FSDP's resharding and reductions back until the last weight gradients (distributed/pipelining/stage.py).
[[nodiscard]] bool split_backward_allows(Sharding sharding, bool reshard_after_forward);

/// What is legal but costs: uneven stages, tensor parallelism across nodes, idle GPUs of a batch, each with what it adds.
[[nodiscard]] std::vector<Note> plan_notes(const ModelShape& model, const Plan& plan, const cluster::Cluster& cluster);

/// Layers of each pipeline chunk in model order (pp * virtual_stages entries): plan.stage_layers, or an even split whose
/// first chunks take the remainder.
[[nodiscard]] std::vector<int> chunk_layers(const ModelShape& model, const Plan& plan);

}  // namespace sgsim::plan
