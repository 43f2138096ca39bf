#pragma once

#include "sim/lower/workload.h"

namespace sgsim::testing {

/// A Megatron-like job with made-up but plausible times: 1F1B, two tensor-parallel collectives a layer and direction on
/// the compute path, point-to-point transfers between stages on their own streams, a gradient reduction over the network
/// at the end. Ranks: tensor fastest, then data, then pipeline.
struct MegatronSize {
  int tp = 8, pp = 8, dp = 16, micro_batches = 128, layers = 10;  // layers of one stage
  double compute_slowdown = 1.0, transfer_slowdown = 1.0;
};
[[nodiscard]] lower::Workload megatron(const MegatronSize& size);

/// FSDP: units gathered ahead in forward and again in backward, gradients reduce-scattered, one group of all ranks.
struct FsdpSize {
  int ranks = 1024, units = 80, prefetch = 1;
  double compute_slowdown = 1.0, transfer_slowdown = 1.0;
};
[[nodiscard]] lower::Workload fsdp(const FsdpSize& size);

}  // namespace sgsim::testing
