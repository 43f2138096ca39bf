#pragma once

#include <cstdint>
#include <vector>

#include "sim/lower/data_parallel/parameters.h"
#include "sim/lower/data_parallel/state_types.h"
#include "sim/lower/program/actions.h"

namespace sgsim::lower {

/// What calling a compiled piece costs the host where torch.compile cuts a graph at DDP's buckets, in eager dispatches: 0.61 (GPT-2) and
/// 0.69 ms (Llama) a piece more than the uncut graph takes, a third of it in the forward pass (PyTorch 2.11 on an H200, where a
/// dispatch takes 14.7 us: docs/records/h200-pytorch-2026-11-30, ddp_pieces.json).
inline constexpr int kPieceForwardOperators = 15, kPieceBackwardOperators = 29;
/// Whether a plan's graph is cut so.
[[nodiscard]] bool cuts_at_buckets(const plan::Plan& plan, const Training& training);
/// Whether buckets are reduced beside the backward pass. A compiled graph of DDP that is not cut hands over all gradients when it ends.
[[nodiscard]] bool reduces_beside(const plan::Plan& plan, const Training& training);

/// Gradients that are reduced together.
struct Bucket {
  std::vector<std::uint32_t> parameters;  // indices into the chunk's parameters
  double elements = 0.0;
  std::uint32_t position = 0, kernel = 0; // complete before this kernel of this position's backward list
  bool expert = false;                    // reduced over the ranks that hold the same experts
  bool operator==(const Bucket&) const = default;
};

/// Buckets in the order in which gradients become complete (PyTorch rebuilds its buckets in that order after the first
/// step; before it, in reverse parameter order). A bucket is closed once it holds `limit` bytes or more, the first of
/// all once it holds `first`; limit zero: one bucket with everything. Expert parameters have buckets of their own.
[[nodiscard]] std::vector<Bucket> make_buckets(const std::vector<OwnedParameter>& parameters, graph::DType dtype, Bytes limit, Bytes first);

/// Reduction of gradients in buckets (DDP, ZeRO-1, ZeRO-2).
struct BucketReduction {
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  graph::DType dtype = graph::DType::float32;
  bool scale_kernels = false;             // each gradient is divided by the world size on the compute stream first
  bool accumulate = false;                // and before that added to what earlier micro-batches left (raw type `raw`)
  graph::DType raw = graph::DType::float32;
  bool experts_alone = false;             // each expert is held by one rank only: its gradients are complete as they are
};

/// A copy of each gradient in the type of its sum, made for the addition (`hp.add_(lp.to(float32))`).
[[nodiscard]] SideKernels widen_gradients(double elements, int tensors, graph::DType raw, graph::DType kept);
/// Kernels that add `tensors` raw gradients of `elements` in all to the kept ones, one launch each, as autograd's
/// AccumulateGrad does.
[[nodiscard]] SideKernels accumulate_gradients(double elements, int tensors, graph::DType raw, graph::DType kept);

/// The actions that reduce one bucket once its gradients are complete. `produces` is made by the collective.
[[nodiscard]] std::vector<Action> reduce_bucket(const Bucket& bucket, const BucketReduction& reduction, Token produces);

/// Actions during the backward pass of the chunk that overlap reduction with it: one insertion set a bucket, in order.
/// PyTorch starts buckets in order only: a bucket waits for the earlier ones to be complete.
[[nodiscard]] ChunkActions overlapped_reduction(const std::vector<Bucket>& buckets, const BucketReduction& reduction, std::size_t positions,
                                                const std::vector<Token>& tokens);

}  // namespace sgsim::lower
