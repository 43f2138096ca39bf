#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/quantity.h"

namespace sgsim::plan {

/// How parameters, gradients and optimizer state are spread over the data-parallel ranks.
enum class Sharding : std::uint8_t { ddp, zero1, zero2, fsdp, hybrid };
/// zero_bubble: ZB-H1 of Qi et al. 2023 (backward passes split into input and weight gradients).
enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };
enum class Recompute : std::uint8_t { none, selective, full };

/// FSDP (ZeRO-3) and hybrid shard.
struct FsdpOptions {
  int layers_per_unit = 1;           // the embedding and head are the root unit
  int prefetch = 1;                  // units gathered ahead
  bool reshard_after_forward = true;
  int shard_group = 0;               // hybrid: ranks that share one copy; 0 is one node
  auto operator<=>(const FsdpOptions&) const = default;
};

/// DDP / ZeRO-1 / ZeRO-2 gradient reduction.
struct BucketOptions {
  Bytes bucket;                      // 25 MiB in PyTorch; zero: one bucket with everything
  bool overlap = true;               // reduce while the backward pass still runs
  auto operator<=>(const BucketOptions&) const = default;
};

/// What lies in host memory instead of the GPU's.
struct OffloadOptions {
  bool optimizer = false;            // optimizer state; the host updates the parameters (ZeRO-Offload, Ren et al. 2021)
  bool activations = false;          // what layers keep from forward to backward, except each stage's latest
  [[nodiscard]] bool any() const { return optimizer || activations; }
  auto operator<=>(const OffloadOptions&) const = default;
};

/// How the graph is spread. Rank order, fastest first: tp, cp, ep within dp, dp, pp (Megatron's order).
struct Plan {
  int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  Sharding sharding = Sharding::ddp;
  bool sequence_parallel = false;    // only with tp > 1
  Schedule schedule = Schedule::one_f_one_b;
  int virtual_stages = 1;            // model chunks a pipeline rank (interleaved: > 1)
  std::int64_t micro_batch = 1;      // samples a micro-batch and data-parallel rank
  std::int64_t global_batch = 1;     // samples a step; micro_batch * dp divides it
  Recompute recompute = Recompute::none;
  FsdpOptions fsdp;
  BucketOptions buckets;
  std::vector<int> stage_layers;     // layers of each stage and chunk in pipeline order; empty: even split
  int recompute_layers = 0;          // layers of each chunk that are recomputed, its first ones; 0: all (Megatron-LM's "block" method)
  OffloadOptions offload;

  [[nodiscard]] int world() const { return dp * tp * pp * cp; }
  /// Micro-batches one data-parallel rank runs a step (gradient accumulation).
  [[nodiscard]] std::int64_t micro_batches() const { return global_batch / (micro_batch * dp); }
  auto operator<=>(const Plan&) const = default;
};

/// Model facts that legality depends on. Zero where the model has no such notion.
struct ModelShape {
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn = 0, vocab = 0, sequence = 0, experts = 0;
  auto operator<=>(const ModelShape&) const = default;
};

/// Why a plan cannot run: the rule and its numbers. A value, never an exception.
struct Violation {
  std::string rule;     // "tp_divides_heads"
  std::string message;  // "tensor parallel 16 does not divide 40 attention heads; use 1, 2, 4, 5, 8, 10, 20 or 40"
  bool operator==(const Violation&) const = default;
};

/// Legal but costing something: an uneven pipeline, padded vocabulary, with what it adds.
struct Note {
  std::string rule;
  std::string message;
  bool operator==(const Note&) const = default;
};

}  // namespace sgsim::plan
