#pragma once

#include <cstdint>
#include <vector>

#include "sim/lower/data_parallel/parameters.h"
#include "sim/lower/data_parallel/state_types.h"
#include "sim/lower/program/actions.h"

namespace sgsim::lower {

/// Parameters that are gathered and reduced together.
struct Unit {
  std::vector<std::uint32_t> parameters;   // indices into the chunk's parameters
  double elements = 0.0;
  int trained = 0;                         // parameters with a gradient,
  double trained_elements = 0.0;           // and their elements: what is reduced
  std::uint32_t first = 0, last = 0;       // positions whose forward needs it
  bool root = false;                       // embedding and head: gathered around the whole chunk
  bool expert = false;                     // of the layers' experts, which fewer ranks share
  bool operator==(const Unit&) const = default;
};

/// Units of a chunk in forward order: the root first (if the chunk has any position outside the layers), then
/// layers_per_unit layers each; the experts of those layers are a unit of their own after it (as torchtitan wraps them: they are
/// sharded over the ranks that hold the same experts). Units without parameters are left out.
[[nodiscard]] std::vector<Unit> make_units(const Chunk& chunk, const std::vector<OwnedParameter>& parameters, int layers_per_unit);

/// aten and c10d calls that FSDP2's hooks dispatch for a unit of `tensors` parameters, views included, the collective itself
/// excluded; counted in profiles of PyTorch 2.11 (validation data set, h200/llama_1b_fsdp2_compile.trace.json.gz: units of 9 and of
/// 3 parameters): gather 30 and 18, copy-out 17 and 11, reduction 21 and 15.
[[nodiscard]] constexpr int fsdp_gather_operators(int tensors) { return 12 + 2 * tensors; }
[[nodiscard]] constexpr int fsdp_copy_out_operators(int tensors) { return 8 + tensors; }
[[nodiscard]] constexpr int fsdp_reduce_operators(int tensors) { return 12 + tensors; }

/// FSDP2's copy into the reduce-scatter's buffer is bound by its instructions where it also casts: 0.338 elements/ps, as flops an element at the
/// vector peak (torch._chunk_cat of bfloat16 to float32, 2^25 and 2^27 elements; H200, docs/records/h200-pytorch-2026-11-30).
inline constexpr double kFsdpChunkCatFlops = 198.0;

/// How FSDP runs (FSDP2 of PyTorch; Zhao et al. 2023, section 3.3).
struct FsdpRules {
  StateTypes types;
  int prefetch = 1;
  bool reshard_after_forward = true, root_reshards = true, copy_kernels = true;
  bool hybrid = false;                     // gathers in the shard group
  bool replicas = false;                   // there are several groups: gradients are also reduced over them
  int shard_ranks = 1, expert_ranks = 1;   // that divide a unit, a unit of experts
  bool split_backward = false;             // zero bubble: gradients are made in the pass of the weights, and reduced after it (PyTorch's pipeline stages do so)
  bool operator==(const FsdpRules&) const = default;
};

/// Completion of each unit's communication; equal in all passes of a chunk.
struct UnitTokens {
  Token copied_in, gathered, copied_out, reduced;
};

/// What one micro-batch does differently.
struct FsdpPass {
  bool gather = true;            // parameters are not unsharded already
  bool reshard = true;           // after the backward pass
  bool reduce = true;            // gradients are reduced; otherwise they stay unsharded
  bool add_unsharded = false;    // earlier micro-batches left unsharded gradients to add to
  bool add_sharded = false;      // earlier micro-batches left reduced gradients to add to
  auto operator<=>(const FsdpPass&) const = default;
};

/// Actions around both passes of one micro-batch over a chunk.
///
/// Forward: unit u's gather may run once unit u - 1 - prefetch has been copied out of its gather buffer; prefetch 0: after unit
/// u - 1's kernels. Backward: while unit u runs, the `prefetch` units before it are gathered. A unit's gradients are copied into the
/// reduce-scatter input on the compute stream, which first waits for the previous unit's reduction (FSDP2 keeps one input alive).
/// Gathers and reductions share one communicator, which runs them in the order of issue.
[[nodiscard]] ChunkActions fsdp_actions(const Chunk& chunk, const std::vector<Unit>& units, const FsdpRules& rules,
                                        const std::vector<UnitTokens>& tokens, const FsdpPass& pass);

}  // namespace sgsim::lower
