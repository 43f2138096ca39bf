#pragma once

#include <cstdint>
#include <vector>

#include "planner/search/layer_costs.h"
#include "sim/lower/data_parallel/offload.h"
#include "sim/lower/program/run_cost.h"

namespace sgsim::search {

/// A stretch of positions that some pipeline chunks of a layout have in common.
struct ChunkKind {
  std::vector<std::uint32_t> positions;      // segments
  std::vector<bool> is_layer;
  lower::RunCost forward, backward, inputs;  // all positions in order, and back; inputs: as in SegmentCost
  double saved = 0.0, held = 0.0, boundary = 0.0;  // bytes kept for one micro-batch; for its weight gradients; handed on by the last position
  double offloaded = 0.0, fetched = 0.0;     // bytes of `saved` that are in host memory between the passes; of the largest layer of them
  double dense = 0.0, expert = 0.0, replicated = 0.0, tied = 0.0;  // trained elements
  double frozen = 0.0, frozen_expert = 0.0;  // as in SegmentCost
  int tensors = 0, tensor_sharded = 0;
};

/// Stages of a layout: chunks of each, as indices of kinds; equal stages share an entry of `kinds`.
struct Stages {
  std::vector<ChunkKind> chunk_kinds;
  std::vector<std::uint32_t> chunks;                   // kind of each chunk, in model order
  std::vector<std::vector<std::uint32_t>> kinds;       // chunk kinds of each distinct stage
  std::vector<std::uint32_t> stages;                   // index in `kinds` of each stage
};

/// `link`: of plans that offload activations; their copies beside the kernels are in the passes.
[[nodiscard]] Stages stages_of(const LayerCosts& costs, const plan::Plan& plan, const lower::HostLink& link = {});

/// A first embedding and a head that share their tensor on different stages.
[[nodiscard]] double tied_elements(const LayerCosts& costs, const plan::Plan& plan);

}  // namespace sgsim::search
