#include "sim/lower/memory/replay.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "sim/core/stop.h"

namespace sgsim::lower {
namespace {

using ByClass = std::array<double, kMemoryClasses>;

MemoryPoint point(std::uint32_t task, const ByClass& live) {
  MemoryPoint p;
  p.task = task;
  for (std::size_t c = 0; c < kMemoryClasses; ++c) p.by_class[c] = Bytes(live[c]);
  return p;
}

class Replay {
 public:
  explicit Replay(const std::vector<std::string>& labels) : labels_(labels), by_label_(labels.size(), 0.0) {}

  void keep(MemoryClass c, Bytes bytes, const std::string& label) {
    if (bytes.value() <= 0.0) return;
    live_[static_cast<std::size_t>(c)] += bytes.value();
    total_ += bytes.value();
    kept_.emplace_back(label, bytes.value());
  }
  void start() { record(0); }
  /// `detailed`: every local extreme of the curve is kept; otherwise temporaries show only where they make a new peak, and
  /// a pass that only takes or only gives back is one point.
  void change(std::uint32_t task, const MemoryStep& step, bool detailed);
  Memory finish(const RuntimeMemory& runtime) &&;

 private:
  void record(std::uint32_t task, bool detailed = true);

  const std::vector<std::string>& labels_;
  std::vector<double> by_label_;
  std::vector<std::pair<std::string, double>> kept_;
  ByClass live_{};
  double total_ = 0.0, last_total_ = 0.0;
  bool rising_ = true;
  double peak_ = -1.0;
  Memory memory_;
  std::vector<double> peak_by_label_;
};

// One point a task while memory keeps moving in one direction: the curve keeps every local maximum and minimum, and
// the start.
void Replay::record(std::uint32_t task, bool detailed) {
  const bool rises = total_ >= last_total_;
  auto& curve = memory_.curve;
  if (curve.size() > 1 && (curve.back().task == task || !detailed) && rises == rising_) {
    curve.back() = point(task, live_);
  } else {
    curve.push_back(point(task, live_));
  }
  rising_ = rises;
  last_total_ = total_;
  if (total_ <= peak_) return;
  peak_ = total_;
  memory_.at_peak = point(task, live_);
  peak_by_label_ = by_label_;
}

void Replay::change(std::uint32_t task, const MemoryStep& step, bool detailed) {
  if (step.transient && !detailed && total_ + step.delta <= peak_) return;
  const auto apply = [&](double delta) {
    live_[static_cast<std::size_t>(step.memory_class)] += delta;
    by_label_[step.label] += delta;
    total_ += delta;
    record(task, detailed);
  };
  apply(step.delta);
  if (step.transient) apply(-step.delta);
}

Memory Replay::finish(const RuntimeMemory& runtime) && {
  // Captured graphs take activations, gradients and workspaces from a pool of their own, once and for all.
  if (runtime.graph_pool) {
    for (const MemoryPoint& p : memory_.curve) {
      Bytes pool;
      for (const MemoryClass c : {MemoryClass::activations, MemoryClass::gradients, MemoryClass::buffers}) pool += p.by_class[static_cast<std::size_t>(c)];
      memory_.graph_pool = std::max(memory_.graph_pool, pool);
    }
  }
  memory_.peak = Bytes(peak_) - memory_.graph_pool;
  const Bytes outside = runtime.communication + runtime.context;
  memory_.reserved = reserved_of(memory_.peak + memory_.graph_pool, runtime);
  memory_.at_peak.by_class[static_cast<std::size_t>(MemoryClass::runtime)] += outside;
  std::map<std::string, double> live;
  for (const auto& [label, bytes] : kept_) live[label] += bytes;
  for (std::size_t l = 0; l < peak_by_label_.size(); ++l) live[labels_[l]] += peak_by_label_[l];
  for (const auto& [label, bytes] : live) {
    if (bytes > 0.5) memory_.live_at_peak.emplace_back(label, Bytes(bytes));
  }
  std::stable_sort(memory_.live_at_peak.begin(), memory_.live_at_peak.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return std::move(memory_);
}

}  // namespace

Bytes reserved_of(Bytes allocated, const RuntimeMemory& runtime) {
  const Bytes needed = allocated + runtime.communication + runtime.context, grown = needed + allocated * runtime.fragmentation;
  if (runtime.capacity.value() <= 0.0) return grown;
  return std::min(grown, std::max(needed, runtime.capacity));
}

Memory replay_memory(const Stage& stage, const RuntimeMemory& runtime) {
  const Skeleton& skeleton = stage.skeleton;
  Replay replay(skeleton.labels);
  for (const Persistent& p : stage.persistent) replay.keep(p.memory_class, p.bytes, p.label);
  replay.keep(MemoryClass::buffers, runtime.workspaces, "library workspaces");
  replay.start();
  constexpr std::int32_t kDetailed = 4;  // micro-batches drawn in full; later ones repeat them
  StopWatch watch;
  for (const Emission& emission : skeleton.emissions) {
    const bool detailed = emission.micro_batch < kDetailed;
    const Piece& piece = skeleton.pieces[emission.piece];
    const auto steps = static_cast<std::uint32_t>(piece.steps.size());
    for (const MemoryStep& step : piece.memory) {
      watch.turn();
      replay.change(emission.first_task + std::min(step.step, steps > 0 ? steps - 1 : 0), step, detailed);
    }
  }
  return std::move(replay).finish(runtime);
}

}  // namespace sgsim::lower
