#include "sim/lower/data_parallel/buckets.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sgsim::lower {
namespace {

// Backward order: later positions first, then by kernel.
bool completes_before(const OwnedParameter& a, const OwnedParameter& b) {
  if (a.position != b.position) return a.position > b.position;
  return a.ready_at < b.ready_at;
}

std::vector<std::uint32_t> completion_order(const std::vector<OwnedParameter>& parameters) {
  std::vector<std::uint32_t> order(parameters.size());
  std::iota(order.rbegin(), order.rend(), 0u);  // ties: reverse parameter order
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return completes_before(parameters[a], parameters[b]); });
  return order;
}

/// torch.compile of the DistributedDataParallel module itself. Stages of a pipeline and models of DTensors, which that class refuses, are
/// compiled inside whatever reduces their gradients.
bool compiled_ddp(const plan::Plan& plan, const Training& training) {
  return plan.pp == 1 && plan.tp == 1 && plan.sharding == plan::Sharding::ddp && plan.dp * plan.cp > 1 && training.execution == compile::Execution::compiled && !training.stack.compile_layers_only;
}

}  // namespace

bool cuts_at_buckets(const plan::Plan& plan, const Training& training) { return compiled_ddp(plan, training) && training.stack.ddp_cuts_graph; }

bool reduces_beside(const plan::Plan& plan, const Training& training) { return plan.buckets.overlap && (!compiled_ddp(plan, training) || training.stack.ddp_cuts_graph); }

std::vector<Bucket> make_buckets(const std::vector<OwnedParameter>& parameters, graph::DType dtype, Bytes limit, Bytes first) {
  std::vector<Bucket> buckets;
  const double size = graph::size_of(dtype);
  const double unlimited = std::numeric_limits<double>::infinity();
  const double most = limit.value() > 0.0 ? limit.value() : unlimited;
  Bucket open[2];  // dense, expert
  bool first_closed = limit.value() == 0.0;
  for (const std::uint32_t index : completion_order(parameters)) {
    const OwnedParameter& p = parameters[index];
    Bucket& bucket = open[p.shard->expert ? 1 : 0];
    bucket.parameters.push_back(index);
    bucket.elements += static_cast<double>(p.shard->elements);
    bucket.position = p.position;
    bucket.kernel = p.ready_at;
    bucket.expert = p.shard->expert;
    const double cap = first_closed ? most : std::min(most, first.value());
    if (bucket.elements * size >= cap) {
      buckets.push_back(std::move(bucket));
      bucket = {};
      first_closed = true;
    }
  }
  for (Bucket& bucket : open) {
    if (!bucket.parameters.empty()) buckets.push_back(std::move(bucket));
  }
  return buckets;
}

SideKernels accumulate_gradients(double elements, int tensors, graph::DType raw, graph::DType kept) {
  const double each = elements / tensors, raw_size = graph::size_of(raw), kept_size = graph::size_of(kept);
  return {.name = "accumulate gradients", .work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = Bytes(each * (raw_size + kept_size)), .written = Bytes(each * kept_size), .flops = Flops(each)},
          .launches = tensors, .operators = tensors};
}

SideKernels widen_gradients(double elements, int tensors, graph::DType raw, graph::DType kept) {
  const double each = elements / tensors;
  return {.name = "widen gradients", .work = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(each * graph::size_of(raw)), .written = Bytes(each * graph::size_of(kept)), .flops = {}},
          .launches = tensors, .operators = tensors};
}

std::vector<Action> reduce_bucket(const Bucket& bucket, const BucketReduction& reduction, Token produces) {
  std::vector<Action> actions;
  const Bytes bytes(bucket.elements * graph::size_of(reduction.dtype));
  const int count = static_cast<int>(bucket.parameters.size());
  if (reduction.accumulate) actions.push_back(accumulate_gradients(bucket.elements, count, reduction.raw, reduction.dtype));
  if (reduction.scale_kernels) {
    const Bytes each = bytes / static_cast<double>(count);
    actions.push_back(SideKernels{.name = "scale gradients", .work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = each, .written = each, .flops = Flops(bucket.elements / count)},
                                  .launches = count, .operators = count});
  }
  if (bucket.expert && reduction.experts_alone) return actions;
  const bool reduce_scatter = reduction.op == graph::CollectiveOp::reduce_scatter;
  actions.push_back(Communicate{.slot = bucket.expert ? Slot::expert_data : Slot::data, .op = reduction.op, .payload = bytes,
                                .name = reduce_scatter ? "reduce_scatter gradients" : "all_reduce gradients", .stream = "dp", .produces = produces});
  return actions;
}

ChunkActions overlapped_reduction(const std::vector<Bucket>& buckets, const BucketReduction& reduction, std::size_t positions, const std::vector<Token>& tokens) {
  ChunkActions actions;
  actions.positions.resize(positions);
  std::uint32_t position = static_cast<std::uint32_t>(positions), kernel = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const Bucket& bucket = buckets[b];
    if (bucket.position < position) {
      position = bucket.position;
      kernel = bucket.kernel;
    } else if (bucket.position == position) {
      kernel = std::max(kernel, bucket.kernel);
    }
    std::vector<Insertion>& insertions = actions.positions[position].in_backward;
    if (insertions.empty() || insertions.back().kernel != kernel) insertions.push_back({.kernel = kernel, .actions = {}});
    for (Action& action : reduce_bucket(bucket, reduction, tokens[b])) insertions.back().actions.push_back(std::move(action));
  }
  return actions;
}

}  // namespace sgsim::lower
