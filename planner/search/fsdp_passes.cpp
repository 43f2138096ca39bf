#include "planner/search/fsdp_passes.h"

#include <algorithm>

#include "sim/graph/dtype.h"

namespace sgsim::search {
namespace {

using lower::kFirstMicroBatch;
using lower::kLastMicroBatch;

constexpr std::uint8_t kCompute = 0, kUnitStream = 1, kReplicateStream = 2;

/// Times of one unit, seconds.
struct UnitTimes {
  double gather = 0.0, copy_out = 0.0, copy_in = 0.0, reduce = 0.0, replicate = 0.0, accumulate = 0.0;
};

class Passes {
 public:
  Passes(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) : s_(s), costs_(costs), kind_(kind), units_(units_of(costs, kind, s.plan.fsdp.layers_per_unit)) {
    for (const UnitPart& unit : units_) price(unit);
    rooted_ = !units_.empty() && units_[0].root;
    copied_out_.assign(units_.size(), -1);
  }

  ChunkState run();

 private:
  [[nodiscard]] double copy(double read, double written) const {
    return s_.costs.eager.device_gap.value() + s_.costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(read), .written = Bytes(written), .flops = Flops()}).time.value();
  }
  void price(const UnitPart& unit);
  /// Seconds that copies of activations to and from the host add to the kernels of a pass (ChunkKind has them).
  [[nodiscard]] double copies(bool forward) const {
    double kernels = 0.0;
    for (const std::uint32_t at : kind_.positions) kernels += (forward ? costs_.segments[at].forward : costs_.segments[at].backward).device.value();
    return std::max(0.0, (forward ? kind_.forward : kind_.backward).device.value() - kernels);
  }
  [[nodiscard]] bool reshards(std::size_t u) const {
    return s_.plan.fsdp.reshard_after_forward && (!units_[u].root || s_.training.stack.fsdp_root_reshards);
  }

  std::int32_t add(std::uint8_t stream, double work, std::int32_t a = -1, std::int32_t b = -1) {
    ops_.push_back({.stream = stream, .work = work, .waits = {a, b}});
    const auto at = static_cast<std::int32_t>(ops_.size() - 1);
    if (stream == kCompute) last_compute_ = at;
    return at;
  }
  std::int32_t gather(std::size_t u, std::int32_t wait) { return add(kUnitStream, times_[u].gather, wait); }
  void kernels(std::size_t position, bool forward) {
    const SegmentCost& segment = costs_.segments[kind_.positions[position]];
    (void)add(kCompute, (forward ? segment.forward : segment.backward).device.value());
  }
  void forward(bool gathers);
  void backward(bool gathers, bool reduces, bool adds_unsharded);
  void reduce(std::size_t u, bool adds_unsharded, bool reduces);

  const StateSetting& s_;
  const LayerCosts& costs_;
  const ChunkKind& kind_;
  std::vector<UnitPart> units_;
  std::vector<UnitTimes> times_;
  bool rooted_ = false;
  std::vector<StreamOp> ops_;
  std::vector<std::int32_t> copied_out_;
  std::int32_t last_compute_ = -1, reduced_ = -1;
};

void Passes::price(const UnitPart& unit) {
  const auto& types = s_.types;
  const double parameter = unit.elements * graph::size_of(types.parameter), raw = unit.trained * graph::size_of(types.raw_gradient);
  const double gradient = unit.trained * graph::size_of(types.gradient);
  const bool hybrid = s_.plan.sharding == plan::Sharding::hybrid, copies = s_.training.stack.fsdp_copy_kernels;
  const auto over = [&](graph::CollectiveOp op, double elements, graph::DType dtype, const cluster::GroupShape& group) {
    return elements > 0.0 && group.ranks > 1 ? s_.costs.collective(op, Bytes(elements * graph::size_of(dtype)), group).time().value() : 0.0;
  };
  const auto both = [&](graph::CollectiveOp op, double all, double expert, graph::DType dtype) {
    return over(op, all - expert, dtype, hybrid ? s_.shard : s_.data) + over(op, expert, dtype, s_.plan.ep > 1 ? s_.expert_data : hybrid ? s_.shard : s_.data);
  };
  UnitTimes t;
  t.gather = both(graph::CollectiveOp::all_gather, unit.elements, unit.expert, types.parameter);
  t.reduce = both(graph::CollectiveOp::reduce_scatter, unit.trained, unit.trained_expert, types.gradient);
  const double part = (unit.trained - unit.trained_expert) / s_.shards + unit.trained_expert / s_.expert_shards;
  if (hybrid) t.replicate = over(graph::CollectiveOp::all_reduce, part, types.gradient, s_.replicate);
  if (copies) t.copy_out = copy(parameter, parameter);
  if (unit.trained > 0.0 && (copies || types.raw_gradient != types.gradient)) t.copy_in = copy(raw, gradient);
  const double each = raw / std::max(1, unit.tensors);
  t.accumulate = unit.tensors * (s_.costs.eager.device_gap.value() +
                                 s_.costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = Bytes(2.0 * each), .written = Bytes(each), .flops = Flops()}).time.value());
  times_.push_back(t);
}

void Passes::forward(bool gathers) {
  const auto ahead = static_cast<std::size_t>(s_.plan.fsdp.prefetch);
  const bool copies = s_.training.stack.fsdp_copy_kernels;
  const auto enter = [&](std::size_t u) {
    if (!gathers) return;
    std::int32_t wait = -1;
    if (ahead == 0 || !copies) wait = last_compute_;
    else if (u >= ahead + 1) wait = copied_out_[u - ahead - 1];
    const std::int32_t gathered = gather(u, wait);
    copied_out_[u] = add(kCompute, times_[u].copy_out, gathered);
  };
  if (rooted_) enter(0);
  std::size_t u = rooted_ ? 1 : 0;
  for (std::size_t p = 0; p < kind_.positions.size(); ++p) {
    if (u < units_.size() && kind_.is_layer[p] && units_[u].first == p) enter(u++);
    kernels(p, true);
  }
}

void Passes::reduce(std::size_t u, bool adds_unsharded, bool reduces) {
  if (adds_unsharded) (void)add(kCompute, times_[u].accumulate);
  if (!reduces) return;
  const std::int32_t copied = add(kCompute, times_[u].copy_in, reduced_);
  reduced_ = add(kUnitStream, times_[u].reduce, copied);
  if (times_[u].replicate > 0.0) reduced_ = add(kReplicateStream, times_[u].replicate, reduced_);
}

void Passes::backward(bool gathers, bool reduces, bool adds_unsharded) {
  std::vector<std::size_t> order;
  if (rooted_) order.push_back(0);
  for (std::size_t u = units_.size(); u-- > (rooted_ ? 1u : 0u);) order.push_back(u);
  std::vector<std::int32_t> gathered(units_.size(), -1);
  std::vector<bool> issued(units_.size(), false);
  const auto issue = [&](std::size_t u, std::int32_t wait) {
    if (!issued[u] && gathers && reshards(u)) gathered[u] = gather(u, s_.plan.fsdp.prefetch == 0 || !s_.training.stack.fsdp_copy_kernels ? last_compute_ : wait);
    issued[u] = true;
  };
  const auto enter = [&](std::size_t i) {
    const std::size_t u = order[i];
    issue(u, i == 0 && units_.size() > 1 ? copied_out_[units_.size() - 2] : -1);
    if (gathered[u] >= 0) copied_out_[u] = add(kCompute, times_[u].copy_out, gathered[u]);
    for (std::size_t p = 1; p <= static_cast<std::size_t>(s_.plan.fsdp.prefetch) && i + p < order.size(); ++p) issue(order[i + p], copied_out_[u]);
  };
  std::size_t i = 0;
  if (rooted_) enter(i++);
  for (std::size_t p = kind_.positions.size(); p-- > 0;) {
    if (i < order.size() && kind_.is_layer[p] && units_[order[i]].last == p) enter(i++);
    kernels(p, false);
    if (i > 0 && !units_[order[i - 1]].root && units_[order[i - 1]].first == p) reduce(order[i - 1], adds_unsharded, reduces);
  }
  if (rooted_) reduce(0, adds_unsharded, reduces);
}

ChunkState Passes::run() {
  const bool pipeline = s_.plan.pp > 1, each = s_.training.stack.fsdp_reduce_each_micro_batch && !pipeline;
  const bool stays = pipeline && !s_.plan.fsdp.reshard_after_forward;
  const std::int64_t m = s_.plan.micro_batches();
  const std::int64_t shown = std::min<std::int64_t>(m, 3);
  struct Mark {
    std::size_t variant;
    std::int32_t forward, backward;
  };
  std::vector<Mark> marks;
  for (std::int64_t b = 0; b < shown; ++b) {
    const std::size_t variant = lower::variant_of(b, shown);
    const bool first = (variant & kFirstMicroBatch) != 0, last = (variant & kLastMicroBatch) != 0;
    forward(first || !stays);
    const std::int32_t after_forward = last_compute_;
    backward(first || !stays, each || last, !first && !each);
    marks.push_back({variant, after_forward, last_compute_});
  }
  std::vector<double> ends;
  run_streams(ops_, s_.slowdown, ends);
  ChunkState state;
  // Calls of FSDP2's hooks for one unit, forward and backward, as sim/lower/data_parallel/fsdp.cpp counts them for a unit of nine
  // parameters (gathers 30 and 30, copies out 17 and 17, reduction 21), and three collectives; half in each pass.
  const auto extra_host = (s_.costs.eager.host_per_collective * 3.0 + s_.costs.eager.host_per_operator * 115.0) * static_cast<double>(units_.size());
  double before = 0.0;
  for (const Mark& mark : marks) {
    const double forward_end = ends[static_cast<std::size_t>(mark.forward)], backward_end = ends[static_cast<std::size_t>(mark.backward)];
    const auto run = [&](double device, const lower::RunCost& base) {
      return lower::RunCost{.device = Seconds(device), .issue_to_end = std::max(base.issue_to_end, base.host + extra_host * 0.5), .host = base.host + extra_host * 0.5};
    };
    state.forward[mark.variant] = run(forward_end - before + copies(true), kind_.forward);
    state.backward[mark.variant] = run(backward_end - forward_end + copies(false), kind_.backward);
    if ((mark.variant & kLastMicroBatch) != 0) state.transfer_end = *std::max_element(ends.begin(), ends.end()) - forward_end;
    before = backward_end;
  }
  for (const UnitTimes& t : times_) state.transfer_total += t.reduce + t.replicate;
  return state;
}

}  // namespace

std::vector<UnitPart> units_of(const LayerCosts& costs, const ChunkKind& kind, int layers_per_unit) {
  UnitPart root{.root = true};
  std::vector<UnitPart> layers;
  int seen = 0;
  for (std::size_t p = 0; p < kind.positions.size(); ++p) {
    const SegmentCost& segment = costs.segments[kind.positions[p]];
    UnitPart* unit = &root;
    if (kind.is_layer[p]) {
      if (seen++ % layers_per_unit == 0) layers.push_back({.first = p, .last = p});
      layers.back().last = p;
      unit = &layers.back();
    }
    unit->elements += segment.dense + segment.expert + segment.frozen;
    unit->expert += segment.expert + segment.frozen_expert;
    unit->trained += segment.dense + segment.expert;
    unit->trained_expert += segment.expert;
    unit->tensors += segment.tensors;
  }
  std::vector<UnitPart> units;
  if (root.elements > 0.0) units.push_back(root);
  units.insert(units.end(), layers.begin(), layers.end());
  return units;
}

ChunkState fsdp_passes(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind) { return Passes(setting, costs, kind).run(); }

}  // namespace sgsim::search
