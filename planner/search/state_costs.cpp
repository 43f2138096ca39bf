#include "planner/search/state_costs.h"

#include <algorithm>
#include <limits>

#include "planner/search/fsdp_passes.h"
#include "sim/graph/dtype.h"
#include "sim/lower/data_parallel/buckets.h"

namespace sgsim::search {
namespace {

using lower::kFirstMicroBatch;
using lower::kLastMicroBatch;
using lower::RunCost;
using plan::Sharding;

bool adds(const StateSetting& s, std::size_t variant) {
  return !s.training.stack.accumulate_in_matmul && ((variant & kFirstMicroBatch) == 0 || s.types.main_gradient);
}

RunCost accumulation(const StateSetting& s, double elements, int tensors) {
  if (tensors == 0) return {};
  return side_kernels(lower::accumulate_gradients(elements, tensors, s.types.raw_gradient, s.types.gradient), s.costs);
}

RunCost accumulation(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  RunCost total;
  for (const std::uint32_t at : kind.positions) {
    const SegmentCost& segment = costs.segments[at];
    total = lower::then(total, accumulation(s, segment.dense + segment.expert, segment.tensors));
  }
  return total;
}

graph::CollectiveOp reduction_op(const StateSetting& s) {
  const bool scatter = s.plan.sharding == Sharding::zero2 || (s.plan.sharding == Sharding::zero1 && !s.training.stack.zero1_all_reduce);
  return scatter ? graph::CollectiveOp::reduce_scatter : graph::CollectiveOp::all_reduce;
}

double reduction_time(const StateSetting& s, const BucketPart& bucket) {
  if (bucket.expert && s.expert_data.ranks <= 1) return 0.0;  // no other rank holds these experts
  const Bytes bytes(bucket.elements * graph::size_of(s.types.gradient));
  return s.costs.collective(reduction_op(s), bytes, bucket.expert ? s.expert_data : s.data).time().value();
}

RunCost scaling(const StateSetting& s, const BucketPart& bucket) {
  if (!s.training.stack.gradient_scale_kernels) return {};
  const Bytes each(bucket.elements * graph::size_of(s.types.gradient) / bucket.tensors);
  return side_kernels({.name = {}, .work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = each, .written = each, .flops = Flops(bucket.elements / bucket.tensors)},
                       .launches = bucket.tensors, .operators = bucket.tensors}, s.costs);
}

/// The backward pass with its buckets reduced beside it, from its start. `goes_on`: the next micro-batch's forward pass follows, beside which what is
/// left is reduced; it waits for nothing, but transfers do not come faster than their stream takes them.
void reduce_beside(const StateSetting& s, const ChunkKind& kind, const std::vector<BucketPart>& buckets, bool accumulates, bool goes_on, RunCost& pass, ChunkState& state) {
  std::vector<StreamOp> ops;
  double done = 0.0, transfers = 0.0;
  RunCost side;
  for (const BucketPart& bucket : buckets) {
    const double ready = std::max(done, bucket.ready);
    RunCost extra = scaling(s, bucket);
    if (accumulates) extra = lower::then(accumulation(s, bucket.elements, bucket.tensors), extra);
    side = lower::then(side, extra);
    ops.push_back({.stream = 0, .work = ready - done + extra.device.value(), .waits = {-1, -1}});
    const double time = reduction_time(s, bucket);
    transfers += time;
    ops.push_back({.stream = 1, .work = time, .waits = {static_cast<std::int32_t>(ops.size()) - 1, -1}});
    done = ready;
    side.host += s.costs.eager.host_per_collective;
  }
  ops.push_back({.stream = 0, .work = std::max(0.0, kind.backward.device.value() - done), .waits = {-1, -1}});
  const std::size_t last = ops.size() - 1;
  const double forward = kind.forward.device.value();
  if (goes_on) ops.push_back({.stream = 0, .work = forward, .waits = {-1, -1}});
  std::vector<double> ends;
  run_streams(ops, s.slowdown, ends);
  pass = lower::then(kind.backward, side);
  pass.device = Seconds(goes_on ? std::max(ends.back(), transfers * s.slowdown.transfer) - forward : ends.back());
  state.transfer_total = transfers;
  state.transfer_end = buckets.empty() ? 0.0 : ends[last - 1];
}

/// With the calls of as many compiled pieces as there are buckets.
RunCost calling_pieces(const StateSetting& s, const RunCost& pass, std::size_t pieces, int operators) {
  if (!lower::cuts_at_buckets(s.plan, s.training)) return pass;
  const Seconds host = s.costs.eager.host_per_operator * static_cast<double>(pieces) * static_cast<double>(operators);
  return lower::then({.device = Seconds(), .issue_to_end = host, .host = host}, pass);
}

}  // namespace

bool captured(const StateSetting& s) { return s.training.execution == compile::Execution::cuda_graph && s.training.stack.nccl_in_graph; }

RunCost side_kernels(const lower::SideKernels& kernels, const lower::TaskCosts& costs) {
  const cost::Estimate estimate = costs.kernel(kernels.work);
  const Seconds host = costs.eager.host_per_kernel + costs.eager.host_per_operator * (static_cast<double>(kernels.operators) / kernels.launches);
  return lower::repeat(lower::kernel_run(estimate.time, host, costs.eager.launch_latency, costs.eager.device_gap), kernels.launches);
}

bool bucket_copies(const StateSetting& s) {
  return s.plan.sharding == Sharding::ddp && s.plan.dp * s.plan.cp > 1 && !s.types.main_gradient && !s.training.stack.gradient_bucket_view;
}

RunCost copies_out_of_buckets(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  RunCost total;
  if (!bucket_copies(s)) return total;
  for (const BucketPart& bucket : buckets_of(s, costs, kind)) {
    const Bytes each(bucket.elements * graph::size_of(s.types.gradient) / bucket.tensors);
    total = lower::then(total, side_kernels({.name = {}, .work = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = each, .written = each, .flops = Flops()},
                                             .launches = bucket.tensors, .operators = bucket.tensors}, s.costs));
  }
  return total;
}

std::vector<BucketPart> buckets_of(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  const double size = graph::size_of(s.types.gradient);
  const double limit = s.plan.buckets.bucket.value() > 0.0 ? s.plan.buckets.bucket.value() : std::numeric_limits<double>::infinity();
  std::vector<BucketPart> buckets;
  BucketPart open[2];
  open[1].expert = true;
  bool first = s.plan.buckets.bucket.value() > 0.0;
  double start = 0.0;
  for (std::size_t i = kind.positions.size(); i-- > 0;) {
    const SegmentCost& segment = costs.segments[kind.positions[i]];
    for (const GradientPart& part : segment.gradients) {
      BucketPart& bucket = open[part.expert ? 1 : 0];
      bucket.ready = start + part.ready;
      bucket.elements += part.elements;
      bucket.tensors += part.tensors;
      const double cap = first ? std::min(limit, s.training.stack.first_bucket.value()) : limit;
      if (bucket.elements * size < cap) continue;
      buckets.push_back(bucket);
      bucket = {.expert = bucket.expert};
      first = false;
    }
    start += segment.backward.device.value();
  }
  for (const BucketPart& bucket : open) {
    if (bucket.tensors > 0) buckets.push_back(bucket);
  }
  return buckets;
}

double gather_time(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  double total = 0.0;
  for (const BucketPart& bucket : buckets_of(s, costs, kind)) {
    if (bucket.expert && s.expert_data.ranks <= 1) continue;
    total += s.costs.collective(graph::CollectiveOp::all_gather, Bytes(bucket.elements * graph::size_of(s.types.parameter)), bucket.expert ? s.expert_data : s.data).time().value();
  }
  return total;
}

ChunkState chunk_state(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  if (lower::fully_sharded(s.plan.sharding) && s.shards > 1) return fsdp_passes(s, costs, kind);
  ChunkState state;
  const RunCost added = accumulation(s, costs, kind);
  const bool reduces = s.plan.dp * s.plan.cp > 1;
  const std::vector<BucketPart> buckets = reduces ? buckets_of(s, costs, kind) : std::vector<BucketPart>{};
  state.forward.fill(calling_pieces(s, kind.forward, buckets.size(), lower::kPieceForwardOperators));
  for (std::size_t variant = 0; variant < lower::kMicroBatchVariants; ++variant) {
    RunCost& pass = state.backward[variant];
    const bool here = reduces && ((variant & kLastMicroBatch) != 0 || s.plan.sharding == Sharding::zero2);
    if (here && lower::reduces_beside(s.plan, s.training)) {
      reduce_beside(s, kind, buckets, adds(s, variant), (variant & kLastMicroBatch) == 0, pass, state);
      pass = calling_pieces(s, pass, buckets.size(), lower::kPieceBackwardOperators);
      continue;
    }
    pass = calling_pieces(s, adds(s, variant) ? lower::then(kind.backward, added) : kind.backward, buckets.size(), lower::kPieceBackwardOperators);
    if (!here) continue;
    state.transfer_total = 0.0;
    for (const BucketPart& bucket : buckets) state.transfer_total += reduction_time(s, bucket);
    state.transfer_end = pass.device.value() + state.transfer_total;
  }
  return state;
}

}  // namespace sgsim::search
