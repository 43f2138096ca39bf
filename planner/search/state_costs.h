#pragma once

#include <array>
#include <vector>

#include "planner/search/layer_costs.h"
#include "planner/search/pipeline.h"
#include "planner/search/stage_kinds.h"
#include "planner/search/streams.h"
#include "sim/lower/data_parallel/state_types.h"
#include "sim/lower/lower.h"
#include "sim/lower/program/actions.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::search {

/// What the data-parallel options of one plan cost with.
struct StateSetting {
  const plan::Plan& plan;
  const lower::Training& training;
  const lower::TaskCosts& costs;
  lower::StateTypes types;
  int shards = 1;                 // ranks that divide dense state
  int expert_shards = 1;
  cluster::GroupShape data, expert_data, shard, replicate;  // the last two: hybrid only
  Slowdown slowdown;
};

/// A chunk's passes with what data parallelism puts between the kernels, and the reduction that outlasts the last.
struct ChunkState {
  std::array<lower::RunCost, lower::kMicroBatchVariants> forward, backward;
  double transfer_total = 0.0;    // seconds of reduction started by the last backward pass
  double transfer_end = 0.0;      // its end, after the start of that pass, were the links free
  double tail = 0.0;              // its end after the end of that pass, where the host is what the pass waits for
  bool operator==(const ChunkState&) const = default;
};

[[nodiscard]] ChunkState chunk_state(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

/// Whether a CUDA graph holds transfers too, and what stands around the kernels.
[[nodiscard]] bool captured(const StateSetting& setting);

/// Kernels of the framework as the compute stream runs them outside a CUDA graph.
[[nodiscard]] lower::RunCost side_kernels(const lower::SideKernels& kernels, const lower::TaskCosts& costs);

/// DDP's buckets hold copies of the gradients (lower::Stack::gradient_bucket_view is off).
[[nodiscard]] bool bucket_copies(const StateSetting& setting);
/// Gradients copied back out of DDP's buckets, once a step.
[[nodiscard]] lower::RunCost copies_out_of_buckets(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

/// Gathers of updated parameters after the optimizer (ZeRO-1, ZeRO-2), seconds.
[[nodiscard]] double gather_time(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

/// Gradients reduced together.
struct BucketPart {
  double ready = 0.0, elements = 0.0;   // seconds after the start of the chunk's backward pass
  int tensors = 0;
  bool expert = false;
};
[[nodiscard]] std::vector<BucketPart> buckets_of(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind);

}  // namespace sgsim::search
