#include "sim/replay/phases.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/replay/steps.h"

namespace sgsim::replay {
namespace {

using trace::kNone;

enum class Phase : std::uint8_t { unknown, forward, backward, optimizer };

/// Stretches of host time, by thread, ascending; the longest of those that begin together is kept.
class Stretches {
 public:
  void add(std::uint32_t thread, Nanoseconds from, Nanoseconds to) {
    auto& list = by_thread_[thread];
    if (!list.empty() && from <= list.back().second) {
      list.back().second = std::max(list.back().second, to);
    } else {
      list.emplace_back(from, to);
    }
  }
  [[nodiscard]] bool hold(std::uint32_t thread, Nanoseconds at) const {
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) return false;
    auto it = std::upper_bound(found->second.begin(), found->second.end(), std::pair(at, std::numeric_limits<Nanoseconds>::max()));
    return it != found->second.begin() && (it - 1)->second >= at;
  }

 private:
  std::map<std::uint32_t, std::vector<std::pair<Nanoseconds, Nanoseconds>>> by_thread_;
};

class PassFinder {
 public:
  PassFinder(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& d, const std::vector<bool>& is_pair) : run_(run), rank_(rank), d_(d), is_pair_(is_pair) {}

  StagePasses find() {
    for (const trace::Collective& c : rank_.collectives) {
      if (is_pair_[static_cast<std::size_t>(&c - rank_.collectives.data())] && c.kind != trace::CommKind::receive) passes_.sends.push_back(static_cast<std::uint32_t>(&c - rank_.collectives.data()));
    }
    if (run_.format == "own_timeline") {
      by_name();
    } else {
      by_operators();
    }
    return std::move(passes_);
  }

 private:
  bool is_neighbour(const trace::DeviceOp& op) const { return op.collective != kNone && is_pair_[op.collective]; }

  static void put(Pass& pass, std::uint32_t index, const trace::DeviceOp& op) {
    pass.ops.push_back(index);
    pass.busy += op.duration;
  }

  static Pass& at(std::vector<Pass>& passes, std::size_t micro_batch, bool forward) {
    if (passes.size() <= micro_batch) passes.resize(micro_batch + 1);
    passes[micro_batch].forward = forward;
    return passes[micro_batch];
  }

  struct Named {
    Phase phase = Phase::unknown;
    std::int64_t micro_batch = -1;
  };
  Named named(const trace::DeviceOp& op) const {
    constexpr std::int64_t kMost = 1'000'000;
    if (op.op == kNone) return {};
    const trace::HostOp& run = rank_.ops[op.op];
    const std::string& name = run_.strings.at(run.name);
    const Phase phase = name.starts_with("forward") ? Phase::forward : name.starts_with("backward") ? Phase::backward : name.starts_with("optimizer") ? Phase::optimizer : Phase::unknown;
    return {.phase = phase, .micro_batch = std::min(run.id, kMost)};
  }

  // Communications are of the pass that runs when they start: their own phase is not in the file.
  void by_name() {
    Nanoseconds last_backward = trace::kNoTime;
    std::map<std::int64_t, Nanoseconds> backward_begins;  // by micro-batch
    for (const trace::DeviceOp& op : rank_.device_ops) {
      const Named n = named(op);
      if (n.phase != Phase::backward) continue;
      last_backward = std::max(last_backward, op.start);
      backward_begins.try_emplace(n.micro_batch, op.start);
    }
    Named running;
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) {
      const trace::DeviceOp& op = rank_.device_ops[i];
      if (is_neighbour(op)) continue;
      Named n = named(op);
      if (n.phase == Phase::forward || n.phase == Phase::backward) running = n;
      if (n.phase == Phase::unknown && n.micro_batch < 0) {
        n = running;
        if (op.start > last_backward) n.phase = Phase::optimizer;
      } else if (n.phase == Phase::unknown) {
        const auto begin = backward_begins.find(n.micro_batch);
        n.phase = begin != backward_begins.end() && op.start >= begin->second ? Phase::backward : Phase::forward;
      }
      if (n.phase == Phase::optimizer) {
        put(passes_.after, i, op);
      } else if (n.phase == Phase::unknown || n.micro_batch < 0) {
        put(passes_.before, i, op);
      } else {
        put(at(n.phase == Phase::forward ? passes_.forward : passes_.backward, static_cast<std::size_t>(n.micro_batch), n.phase == Phase::forward), i, op);
      }
    }
  }

  // The autograd engine has a thread a device, beside the one that calls it: all that this thread launches is backward (hooks of FSDP stand between its operators).
  std::set<std::uint32_t> engine_threads() const {
    std::set<std::uint32_t> engine, callers;
    for (const trace::HostOp& op : rank_.ops) {
      const std::string& name = run_.strings.at(op.name);
      if (name.rfind("autograd::engine", 0) == 0) engine.insert(op.thread);
      else if (name.rfind("Optimizer.", 0) == 0) callers.insert(op.thread);
    }
    for (const trace::Step& step : rank_.steps) callers.insert(step.thread);
    if (callers.empty()) return {};
    for (const std::uint32_t thread : callers) engine.erase(thread);
    return engine;
  }

  Phase phase_of(const trace::DeviceOp& op, const Stretches& backward, const Stretches& optimizer, const std::set<std::uint32_t>& engine) const {
    if (op.call == kNone) return Phase::unknown;
    const trace::HostCall& call = rank_.calls[op.call];
    if (engine.count(call.thread) != 0) return Phase::backward;
    return backward.hold(call.thread, call.start) ? Phase::backward : optimizer.hold(call.thread, call.start) ? Phase::optimizer : Phase::forward;
  }

  void by_operators() {
    Stretches backward, optimizer;
    for (const trace::HostOp& op : rank_.ops) {
      const std::string& name = run_.strings.at(op.name);
      if (name.rfind("autograd::engine", 0) == 0) backward.add(op.thread, op.start, op.start + op.duration);
      if (name.rfind("Optimizer.", 0) == 0) optimizer.add(op.thread, op.start, op.start + op.duration);
    }
    const std::set<std::uint32_t> engine = engine_threads();
    Diagnostics told;
    const std::vector<StepWindow> steps = find_steps(run_, rank_, told);
    Phase running = Phase::unknown;
    bool cut = false;
    for (const std::uint32_t i : d_.order) {
      const trace::DeviceOp& op = rank_.device_ops[i];
      const Nanoseconds at = trace::issued(rank_, rank_.device_ops[i]);
      if (!steps.empty() && (at < steps.back().from || at >= steps.back().to)) continue;
      if (is_neighbour(op)) {
        cut = true;
        continue;
      }
      const Phase phase = phase_of(op, backward, optimizer, engine);
      if (phase == Phase::optimizer) {
        running = phase;
        put(passes_.after, i, op);
      } else if (phase == Phase::unknown) {
        put(running == Phase::unknown ? passes_.before : running == Phase::optimizer ? passes_.after : running == Phase::forward ? passes_.forward.back() : passes_.backward.back(), i, op);
      } else if (running == Phase::optimizer) {
        put(passes_.after, i, op);  // what follows the optimizer is no pass
      } else {
        auto& list = phase == Phase::forward ? passes_.forward : passes_.backward;
        if (phase != running || cut || list.empty()) list.push_back({.forward = phase == Phase::forward, .ops = {}});
        put(list.back(), i, op);
        running = phase;
        cut = false;
      }
    }
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  const trace::Dependencies& d_;
  const std::vector<bool>& is_pair_;
  StagePasses passes_;
};

bool several_steps(const trace::ImportedRun& run, const trace::RankTrace& rank) {
  Diagnostics told;
  return find_steps(run, rank, told).size() > 1;
}

}  // namespace

StagePasses find_passes(const trace::ImportedRun& run, const trace::RankTrace& rank, const trace::Dependencies& d, const std::vector<bool>& is_pair, int micro_batches) {
  StagePasses passes = PassFinder(run, rank, d, is_pair).find();
  const auto complete = [&](const std::vector<Pass>& list) {
    return list.size() == static_cast<std::size_t>(micro_batches) && std::none_of(list.begin(), list.end(), [](const Pass& p) { return p.ops.empty(); });
  };
  if (!complete(passes.forward) || !complete(passes.backward)) {
    const std::size_t forward = passes.forward.size(), backward = passes.backward.size();
    const std::string numbers = std::to_string(forward) + " forward and " + std::to_string(backward) + " backward passes in " + (several_steps(run, rank) ? "its last step" : "its step");
    const std::string hint = backward == 0 && run.format != "own_timeline" ? "no operator of the autograd engine (\"autograd::engine::evaluate_function\") is in the file: record a training step, with host operators (ProfilerActivity.CPU)"
                             : forward == backward && forward > 0 && forward != static_cast<std::size_t>(micro_batches) ? "give --captured-micro-batches " + std::to_string(forward)
                                                   : "passes are told apart by the autograd engine's operators, \"Optimizer.step\" annotations, sends and receives: record whole steps with host operators";
    throw InputError({.file = rank.file, .where = rank.rank >= 0 ? "rank " + std::to_string(rank.rank) : "", .found = numbers, .expected = std::to_string(micro_batches) + " of each, one a micro-batch", .hint = hint});
  }
  return passes;
}

bool names_layer(std::string_view label) {
  for (std::size_t i = 1; i < label.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(label[i])) != 0 && (label[i - 1] == '.' || label[i - 1] == '_')) return true;
  }
  return false;
}

}  // namespace sgsim::replay
