#include "sim/trace/steps.h"

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace sgsim::trace {
namespace {

/// Threads with no more operators than this in a step need not launch anything in it.
constexpr std::uint32_t kMostOpsWithoutCall = 2;

/// Whether no record of a step is missing, as far as the rest of the file shows.
class Wholeness {
 public:
  Wholeness(const RankTrace& rank, const std::vector<StepWindow>& windows) : rank_(rank), windows_(windows), has_kernel_(rank.calls.size(), false), last_call_(rank.threads.size(), kNoTime) {
    for (const DeviceOp& op : rank.device_ops) {
      if (op.call != kNone) has_kernel_[op.call] = true;
    }
    for (const HostCall& call : rank.calls) last_call_[call.thread] = std::max(last_call_[call.thread], call.start);
  }

  /// Marked, but without a device operation.
  bool empty(std::size_t step) const { return !issues(windows_[step].from, windows_[step].to); }

  /// Of a step that is not empty.
  bool whole(std::size_t step) const {
    const StepWindow& w = windows_[step];
    const auto inside = [&](Nanoseconds at) { return at >= w.from && at < w.to; };
    std::vector<std::uint32_t> operators(rank_.threads.size(), 0);
    std::uint64_t known = 0;
    for (const HostOp& op : rank_.ops) {
      if (op.kind != HostKind::op || op.start == kNoTime || !inside(op.start)) continue;
      ++known;
      ++operators[op.thread];
    }
    // No operators to compare with: the cut is in the last step that has device operations, whatever marks stand before them in the file.
    if (known == 0 && (step + 1 == windows_.size() || !issues(w.to, std::numeric_limits<Nanoseconds>::max()))) return false;
    for (std::size_t t = 0; t < operators.size(); ++t) {
      if (operators[t] > kMostOpsWithoutCall && last_call_[t] < w.to) return false;  // the file may end in this thread's part of the step
    }
    for (std::size_t c = 0; c < rank_.calls.size(); ++c) {
      const HostCall& call = rank_.calls[c];
      const bool launches = call.kind == CallKind::launch || call.kind == CallKind::graph_launch;
      if (launches && !has_kernel_[c] && inside(call.start)) return false;
    }
    return true;
  }

 private:
  bool issues(Nanoseconds from, Nanoseconds to) const {
    return std::any_of(rank_.device_ops.begin(), rank_.device_ops.end(), [&](const DeviceOp& op) { return op.start != kNoTime && issued(rank_, op) >= from && issued(rank_, op) < to; });
  }

  const RankTrace& rank_;
  const std::vector<StepWindow>& windows_;
  std::vector<bool> has_kernel_;
  std::vector<Nanoseconds> last_call_;  // by thread
};

template <class Table>
void cut_by_start(Table& table, Nanoseconds at) {
  table.erase(std::remove_if(table.begin(), table.end(), [&](const auto& x) { return x.start != kNoTime && x.start >= at; }), table.end());
}

// Operators and calls are by start, so that what is left keeps its index; device operations and collectives are numbered anew.
void cut(RankTrace& rank, Nanoseconds at) {
  std::vector<DeviceOp> ops;
  std::vector<std::uint32_t> place(rank.device_ops.size(), kNone);
  for (std::uint32_t i = 0; i < rank.device_ops.size(); ++i) {
    if (issued(rank, rank.device_ops[i]) >= at) continue;
    place[i] = static_cast<std::uint32_t>(ops.size());
    ops.push_back(rank.device_ops[i]);
  }
  cut_by_start(rank.ops, at);
  cut_by_start(rank.calls, at);
  cut_by_start(rank.steps, at);
  const auto index = [](std::uint32_t i, std::size_t size) { return i < size ? i : kNone; };
  for (HostCall& call : rank.calls) call.op = index(call.op, rank.ops.size());
  std::vector<Collective> collectives;
  for (DeviceOp& op : ops) op.op = index(op.op, rank.ops.size()), op.collective = kNone;
  for (Collective c : rank.collectives) {
    if (c.device_op == kNone || place[c.device_op] == kNone) continue;
    c.device_op = place[c.device_op];
    c.host_op = index(c.host_op, rank.ops.size());
    if (ops[c.device_op].collective == kNone) ops[c.device_op].collective = static_cast<std::uint32_t>(collectives.size());
    collectives.push_back(c);
  }
  std::vector<Edge> edges;
  const auto keep = [&](Node& node) {
    const std::size_t size = node.table == NodeTable::ops ? rank.ops.size() : node.table == NodeTable::calls ? rank.calls.size() : place.size();
    if (node.index >= size) return false;
    if (node.table == NodeTable::device_ops) node.index = place[node.index];
    return node.index != kNone;
  };
  for (Edge edge : rank.edges) {
    if (keep(edge.from) && keep(edge.to)) edges.push_back(edge);
  }
  rank.device_ops = std::move(ops), rank.collectives = std::move(collectives), rank.edges = std::move(edges);
}

}  // namespace

std::string step_name(std::int64_t number) { return std::string(kStepMark) + std::to_string(std::max<std::int64_t>(0, number)); }

Steps find_steps(const ImportedRun& run, const RankTrace& rank) {
  Steps steps;
  for (const Step& s : rank.steps) steps.windows.push_back({s.number, s.start, s.start + s.duration});
  if (!rank.steps.empty()) return steps;
  Nanoseconds from = std::numeric_limits<Nanoseconds>::min();
  for (const HostOp& op : rank.ops) {
    if (op.kind == HostKind::python || run.strings.at(op.name).rfind("Optimizer.step#", 0) != 0) continue;
    steps.windows.push_back({static_cast<std::int64_t>(steps.windows.size()), from, op.start + op.duration});
    from = op.start + op.duration;
  }
  steps.by_optimizer = !steps.windows.empty();
  if (steps.by_optimizer) steps.windows.back().to = std::numeric_limits<Nanoseconds>::max();
  return steps;
}

std::size_t leave_out_empty(std::vector<StepWindow>& windows, const RankTrace& rank) {
  const std::size_t before = windows.size();
  const auto empty = [&](const StepWindow& w) {
    return std::none_of(rank.device_ops.begin(), rank.device_ops.end(), [&](const DeviceOp& op) { return op.start != kNoTime && issued(rank, op) >= w.from && issued(rank, op) < w.to; });
  };
  windows.erase(std::remove_if(windows.begin(), windows.end(), empty), windows.end());
  return before - windows.size();
}

std::int32_t step_of(const std::vector<StepWindow>& windows, const RankTrace& rank, const DeviceOp& op) {
  const Nanoseconds at = issued(rank, op);
  for (std::size_t s = 0; s < windows.size(); ++s) {
    if (at >= windows[s].from && at < windows[s].to) return static_cast<std::int32_t>(s);
  }
  return -1;
}

void keep_whole_steps(ImportedRun& run) {
  std::vector<std::vector<StepWindow>> windows;
  std::size_t most = 0, kept = std::numeric_limits<std::size_t>::max();
  const RankTrace* shortest = nullptr;
  for (const RankTrace& rank : run.ranks) {
    windows.push_back(find_steps(run, rank).windows);
    most = std::max(most, windows.back().size());
    if (!rank.ends_early) continue;
    if (windows.back().empty()) {
      run.report.add("import.steps.file_ends_early_without_steps", Severity::warning, rank.file + ": what is missing from its end is not in the result");
      continue;
    }
    const Wholeness wholeness(rank, windows.back());
    std::size_t whole = 0;  // up to the last whole one; steps without device operations between them stay
    for (std::size_t step = 0; step < windows.back().size(); ++step) {
      if (wholeness.empty(step)) continue;
      if (!wholeness.whole(step)) break;
      whole = step + 1;
    }
    if (whole < kept) kept = whole, shortest = &rank;
  }
  if (shortest == nullptr || kept >= most) return;
  if (kept == 0) {
    throw InputError({.file = shortest->file, .where = "", .found = "a file that ends early, before its first step is whole", .expected = "at least one whole step", .hint = "copy the file again, or record again and let the profiler finish writing"});
  }
  run.report.add("import.steps.incomplete_left_out", Severity::error, shortest->file + ": ends early; its last whole step is step " + std::to_string(windows[static_cast<std::size_t>(shortest - run.ranks.data())][kept - 1].number), most - kept);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    if (windows[r].size() > kept) cut(run.ranks[r], windows[r][kept].from);
  }
}

}  // namespace sgsim::trace
