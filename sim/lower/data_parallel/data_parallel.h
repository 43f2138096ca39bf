#pragma once

#include <array>
#include <functional>
#include <vector>

#include "sim/lower/data_parallel/offload.h"
#include "sim/lower/data_parallel/optimizer.h"
#include "sim/lower/data_parallel/parameters.h"
#include "sim/lower/data_parallel/state_types.h"
#include "sim/lower/program/actions.h"
#include "sim/lower/schedule/partition.h"

namespace sgsim::lower {

/// Which of a step's micro-batches a pass belongs to; 0: neither the first nor the last.
inline constexpr std::size_t kFirstMicroBatch = 1, kLastMicroBatch = 2, kMicroBatchVariants = 4;
[[nodiscard]] inline std::size_t variant_of(std::int64_t micro_batch, std::int64_t micro_batches) {
  return (micro_batch == 0 ? kFirstMicroBatch : 0) + (micro_batch + 1 == micro_batches ? kLastMicroBatch : 0);
}

/// State that lives through the whole step.
struct Persistent {
  MemoryClass memory_class = MemoryClass::parameters;
  Bytes bytes;
  const char* label = "";
};

/// Everything that data parallelism, gradient accumulation and the optimizer add to one stage.
struct StateActions {
  std::vector<std::array<ChunkActions, kMicroBatchVariants>> chunks;  // by virtual stage and variant
  StepActions step;             // finish includes clipping and the optimizer
  std::vector<Persistent> persistent;
};

/// What the actions depend on.
struct StateInput {
  const std::vector<Chunk>& chunks;                              // of the stage
  const std::vector<std::vector<OwnedParameter>>& parameters;    // of each chunk
  const plan::Plan& plan;
  const Training& training;
  int shard_group = 1;          // hybrid: ranks that share one copy (resolved: not 0)
  HostLink host_link = {};      // for what is offloaded
  std::function<Token()> new_token;
};

[[nodiscard]] StateActions state_actions(const StateInput& input);

/// Ranks that hold the same dense parameters: dp x cp.
[[nodiscard]] inline int data_ranks(const plan::Plan& plan) { return plan.dp * plan.cp; }

}  // namespace sgsim::lower
