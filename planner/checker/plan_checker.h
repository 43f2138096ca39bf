#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgsim::checker {

/// What is claimed of a plan, in plain numbers: this folder shares no code with the search, with plan legality or with lowering.
struct Claim {
  // model
  std::int64_t layers = 0, heads = 0, kv_heads = 0, ffn = 0, sequence = 0, experts = 0;  // 0: the model has no such notion
  double parameters = 0.0;              // elements of the whole model,
  double trained = 0.0;                 // and of them those that are trained
  double flops_a_sample = 0.0;          // forward and backward, without recomputation
  // machine
  int gpus = 1;
  double gpu_memory = 0.0;              // bytes
  double gpu_flops = 0.0;               // a second, dense, of the compute type
  // plan
  int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  std::string sharding;                 // ddp, zero1, zero2, fsdp, hybrid
  bool resharded = false;               // fsdp, hybrid: units are given up after the forward pass
  std::string schedule;                 // gpipe, 1f1b, interleaved, zb_h1
  int shard_group = 0;                  // hybrid: ranks of one copy
  int virtual_stages = 1;
  bool sequence_parallel = false;
  std::int64_t micro_batch = 1, global_batch = 1;
  std::vector<int> stage_layers;        // of each chunk in order; empty: even
  int recompute_layers = 0;             // of each chunk; 0: all or none
  bool recomputes = false;
  bool offload_optimizer = false, offload_activations = false;
  double bytes_parameter = 4.0, bytes_optimizer = 8.0;  // an element: as the kernels keep it; moments and master copy
  // result
  double step_time = 0.0;               // s
  double memory = 0.0;                  // bytes of the fullest rank, as the GPU shows it
  double memory_needed = 0.0;           // of them: without blocks that the allocator holds unused
  double memory_margin = 0.0;           // share of `memory_needed` that must be left of the GPU's memory
};

/// What is wrong with a claim, one sentence each; empty: accepted. It walks the plan: every sample, layer, rank, head and expert must have exactly
/// one place, a pipeline must be able to run to its end, memory must hold at least the sharded state and fit with its margin, and the step may not
/// be faster than all GPUs at their peak rate.
[[nodiscard]] std::vector<std::string> check(const Claim& claim);

}  // namespace sgsim::checker
