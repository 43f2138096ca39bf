#include "planner/search/fsdp_passes.h"

#include <algorithm>

#include "planner/search/fsdp_units.h"

namespace sgsim::search {
namespace {

using lower::kFirstMicroBatch;
using lower::kLastMicroBatch;
using lower::RunCost;

constexpr std::uint8_t kCompute = 0, kUnitStream = 1, kReplicateStream = 2;

class Passes {
 public:
  Passes(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind)
      : s_(s), costs_(costs), kind_(kind), units_(gathered_units(costs, kind, s.plan.fsdp.layers_per_unit)), copies_(s.training.stack.fsdp_copy_kernels) {
    for (const Gathered& unit : units_) times_.push_back(unit_times(s, unit));
    rooted_ = !units_.empty() && units_[0].root;
    copied_out_.assign(units_.size(), -1);
    gathered_.assign(units_.size(), -1);
    if (!captured(s)) {
      collective_host_ = s.costs.eager.host_per_collective.value();
      latency_ = s.costs.eager.launch_latency.value();
    }
  }

  ChunkState run();

 private:
  /// Where a micro-batch's passes end, among the operations and on the host's clock.
  struct Mark {
    std::size_t variant;
    std::int32_t forward, backward;
    double host_begin, host_forward, host_backward;
  };

  /// Seconds that copies of activations to and from the host add to the kernels of a pass (ChunkKind has them).
  [[nodiscard]] double copies(bool forward) const {
    double kernels = 0.0;
    for (const std::uint32_t at : kind_.positions) kernels += (forward ? costs_.segments[at].forward : costs_.segments[at].backward).device.value();
    return std::max(0.0, (forward ? kind_.forward : kind_.backward).device.value() - kernels);
  }
  [[nodiscard]] bool reshards(std::size_t u) const {
    return s_.plan.fsdp.reshard_after_forward && (!units_[u].root || s_.training.stack.fsdp_root_reshards);
  }
  [[nodiscard]] std::size_t ahead() const { return static_cast<std::size_t>(s_.plan.fsdp.prefetch); }

  std::int32_t add(std::uint8_t stream, const RunCost& run, std::int32_t a = -1, std::int32_t b = -1) {
    ops_.push_back({.stream = stream, .work = run.device.value(), .waits = {a, b}, .issued = 0.0, .last_launch = host_ + run.issue_to_end.value()});
    host_ += run.host.value();
    const auto at = static_cast<std::int32_t>(ops_.size() - 1);
    if (stream == kCompute) last_compute_ = at;
    return at;
  }
  std::int32_t transfer(std::uint8_t stream, double time, std::int32_t a, std::int32_t b = -1) {
    host_ += collective_host_;
    ops_.push_back({.stream = stream, .work = time, .waits = {a, b}, .issued = host_ + latency_, .last_launch = 0.0});
    return static_cast<std::int32_t>(ops_.size() - 1);
  }
  void gather(std::size_t u, std::int32_t wait) {
    if (copies_) wait = add(kCopies, times_[u].copy_in, wait);
    gathered_[u] = times_[u].gather > 0.0 ? transfer(kUnitStream, times_[u].gather, wait) : wait;
  }
  void copy_out(std::size_t u) { copied_out_[u] = add(kCompute, times_[u].copy_out, gathered_[u]); }
  void kernels(std::size_t position, bool forward) {
    const SegmentCost& segment = costs_.segments[kind_.positions[position]];
    (void)add(kCompute, forward ? segment.forward : segment.backward);
  }
  void enter_forward(std::size_t begin, std::size_t end);
  void forward(bool gathers);
  void backward(bool gathers, bool each, bool last, bool first);
  void reduce(std::size_t u, bool adds_sharded);
  [[nodiscard]] ChunkState state_of(const std::vector<Mark>& marks);

  const StateSetting& s_;
  const LayerCosts& costs_;
  const ChunkKind& kind_;
  std::vector<Gathered> units_;
  std::vector<UnitTimes> times_;
  bool copies_, rooted_ = false;
  double collective_host_ = 0.0, latency_ = 0.0, host_ = 0.0;
  std::vector<StreamOp> ops_;
  std::vector<std::int32_t> copied_out_, gathered_;
  std::int32_t last_compute_ = -1, reduced_ = -1;
};

/// Units `begin` to `end` begin at the same place. Gathers stand where the host issues them, before what is copied out there.
void Passes::enter_forward(std::size_t begin, std::size_t end) {
  const std::size_t early = copies_ ? (ahead() > 0 ? ahead() - 1 : 0) : ahead();
  const std::size_t from = begin == 0 ? 0 : begin + early, to = std::min(units_.size(), end + early);
  for (std::size_t u = from; u < to; ++u) {
    const bool after_kernels = ahead() == 0 || !copies_;
    gather(u, after_kernels ? last_compute_ : u >= ahead() + 1 ? copied_out_[u - ahead() - 1] : -1);
  }
  for (std::size_t u = begin; u < end; ++u) copy_out(u);
}

void Passes::forward(bool gathers) {
  std::size_t u = rooted_ ? 1 : 0;
  if (gathers && rooted_) enter_forward(0, 1);
  for (std::size_t p = 0; p < kind_.positions.size(); ++p) {
    std::size_t end = u;
    while (end < units_.size() && kind_.is_layer[p] && units_[end].first == p) ++end;
    if (gathers && end > u) enter_forward(u, end);
    u = end;
    kernels(p, true);
  }
}

void Passes::reduce(std::size_t u, bool adds_sharded) {
  if (units_[u].trained_tensors == 0) return;
  const UnitTimes& t = times_[u];
  const std::int32_t copied = add(kCompute, t.reduce_copy, reduced_);
  reduced_ = t.reduce > 0.0 ? transfer(kUnitStream, t.reduce, copied) : copied;
  if (t.replicate > 0.0) reduced_ = transfer(kReplicateStream, t.replicate, reduced_);
  if (adds_sharded) reduced_ = add(kCopies, t.accumulate_shard, reduced_);
}

void Passes::backward(bool gathers, bool each, bool last, bool first) {
  std::vector<std::size_t> order;
  if (rooted_) order.push_back(0);
  for (std::size_t u = units_.size(); u-- > (rooted_ ? 1u : 0u);) order.push_back(u);
  std::vector<bool> issued(units_.size(), false);
  const auto issue = [&](std::size_t u, std::int32_t wait) {
    if (!issued[u] && gathers && reshards(u)) gather(u, ahead() == 0 || !copies_ ? last_compute_ : wait);
    issued[u] = true;
  };
  const auto enter = [&](std::size_t i) {
    const std::size_t u = order[i];
    issue(u, i == 0 && units_.size() > 1 ? copied_out_[units_.size() - 2] : -1);
    if (gathers && reshards(u)) copy_out(u);
    for (std::size_t p = 1; p <= ahead() && i + p < order.size(); ++p) issue(order[i + p], copied_out_[u]);
  };
  const bool reduces = each || last, at_end = s_.plan.schedule == plan::Schedule::zero_bubble;
  const auto leave = [&](std::size_t u) {
    if (!first && !each && units_[u].trained_tensors > 0) (void)add(kCompute, times_[u].accumulate);
    if (reduces && !at_end) reduce(u, !first && each);
  };
  std::size_t entered = 0, left = rooted_ ? 1 : 0;
  if (rooted_) enter(entered++);
  for (std::size_t p = kind_.positions.size(); p-- > 0;) {
    while (entered < order.size() && kind_.is_layer[p] && units_[order[entered]].last == p) enter(entered++);
    kernels(p, false);
    while (left < entered && units_[order[left]].first == p) leave(order[left++]);
  }
  if (rooted_) leave(0);
  if (rooted_) std::rotate(order.begin(), order.begin() + 1, order.end());
  for (const std::size_t u : order) {
    if (reduces && at_end) reduce(u, !first && each);
  }
}

/// Device times are of a host that is long ahead. `issue_to_end` is of one that begins with the device, as far as it is what the step waits for.
ChunkState Passes::state_of(const std::vector<Mark>& marks) {
  std::vector<double> with_host, ends;
  run_streams(ops_, s_.slowdown, with_host);
  for (StreamOp& op : ops_) op.issued = op.last_launch = 0.0;
  run_streams(ops_, s_.slowdown, ends);
  const auto at = [](const std::vector<double>& times, std::int32_t op) { return op < 0 ? 0.0 : times[static_cast<std::size_t>(op)]; };
  ChunkState state;
  double before = 0.0;
  for (const Mark& mark : marks) {
    const double forward_end = at(ends, mark.forward), backward_end = at(ends, mark.backward);
    const auto run = [](double device, double end, double host_begin, double host_end) {
      return RunCost{.device = Seconds(device), .issue_to_end = Seconds(std::max(end - host_begin, host_end - host_begin)), .host = Seconds(host_end - host_begin)};
    };
    state.forward[mark.variant] = run(forward_end - before + copies(true), at(with_host, mark.forward), mark.host_begin, mark.host_forward);
    state.backward[mark.variant] = run(backward_end - forward_end + copies(false), at(with_host, mark.backward), mark.host_forward, mark.host_backward);
    if ((mark.variant & kLastMicroBatch) != 0) {
      state.transfer_end = *std::max_element(ends.begin(), ends.end()) - forward_end;
      state.tail = *std::max_element(with_host.begin(), with_host.end()) - at(with_host, mark.backward);
    }
    before = backward_end;
  }
  for (const UnitTimes& t : times_) state.transfer_total += t.reduce + t.replicate;
  return state;
}

ChunkState Passes::run() {
  const bool pipeline = s_.plan.pp > 1, each = s_.training.stack.fsdp_reduce_each_micro_batch && !pipeline;
  const bool stays = pipeline && !s_.plan.fsdp.reshard_after_forward;
  const std::int64_t shown = std::min<std::int64_t>(s_.plan.micro_batches(), 3);
  std::vector<Mark> marks;
  for (std::int64_t b = 0; b < shown; ++b) {
    const std::size_t variant = lower::variant_of(b, shown);
    const bool first = (variant & kFirstMicroBatch) != 0, last = (variant & kLastMicroBatch) != 0;
    Mark mark{.variant = variant, .forward = -1, .backward = -1, .host_begin = host_, .host_forward = 0.0, .host_backward = 0.0};
    forward(first || !stays);
    mark.forward = last_compute_;
    mark.host_forward = host_;
    backward(first || !stays, each, last, first);
    mark.backward = last_compute_;
    mark.host_backward = host_;
    marks.push_back(mark);
  }
  return state_of(marks);
}

}  // namespace

ChunkState fsdp_passes(const StateSetting& setting, const LayerCosts& costs, const ChunkKind& kind) { return Passes(setting, costs, kind).run(); }

}  // namespace sgsim::search
