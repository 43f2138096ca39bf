#include <algorithm>
#include <set>

#include "sim/trace/recover.h"

namespace sgsim::trace {
namespace {

/// CUDA's queue of a channel held 1,021 to 1,022 launches in every trace where one was full; less than this is no full queue.
constexpr std::size_t kShallowestFullQueue = 900;

class WaitFinder {
 public:
  WaitFinder(const ImportedRun& run, const RankTrace& rank, Dependencies& result)
      : run_(run), rank_(rank), result_(result), issued_(rank.streams.size()), first_op_(rank.calls.size(), kNone), place_(rank.device_ops.size(), 0) {
    for (const std::uint32_t i : result.order) {
      auto& list = issued_[rank.device_ops[i].stream];
      place_[i] = static_cast<std::uint32_t>(list.size());
      list.push_back(i);
      const std::uint32_t call = rank.device_ops[i].call;
      if (call != kNone && first_op_[call] == kNone) {
        first_op_[call] = i;
        launching_.insert(rank.calls[call].thread);
      }
    }
  }

  void find() {
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) {
      const HostCall& call = rank_.calls[i];
      if (launching_.count(call.thread) == 0) continue;  // a watchdog's waits hold nobody back
      switch (call.kind) {
        case CallKind::device_sync: everything(i); break;
        case CallKind::stream_sync:
        case CallKind::event_sync: one_stream(i); break;
        case CallKind::copy: own_copy(i); break;
        case CallKind::launch:
        case CallKind::set: full_queue(i); break;
        default: break;
      }
    }
  }

 private:
  void add(std::uint32_t call, std::vector<std::uint32_t> ops, WaitKind kind, const char* what) {
    result_.report.add(std::string("import.dependencies.") + what, Severity::info, run_.strings.at(rank_.calls[call].name));
    result_.waits.push_back({call, std::move(ops), kind});
  }

  std::uint32_t last_issued(std::uint32_t stream, Nanoseconds before) const {
    const auto& list = issued_[stream];
    const auto it = std::lower_bound(list.begin(), list.end(), before, [&](std::uint32_t i, Nanoseconds t) { return result_.issue[i] < t; });
    return it == list.begin() ? kNone : *(it - 1);
  }

  void everything(std::uint32_t i) {
    const HostCall& call = rank_.calls[i];
    std::vector<std::uint32_t> ops;
    for (std::uint32_t s = 0; s < issued_.size(); ++s) {
      const std::uint32_t op = last_issued(s, call.start);
      if (op != kNone && end_of(rank_.device_ops[op]) <= end_of(call) + 1'000) ops.push_back(op);
    }
    if (!ops.empty()) add(i, std::move(ops), WaitKind::synchronise, "host_waits_for_device");
  }

  // The stream where the file names it; else the one whose last operation ended just before the call did.
  void one_stream(std::uint32_t i) {
    const HostCall& call = rank_.calls[i];
    std::uint32_t best = kNone;
    for (std::uint32_t s = 0; s < issued_.size(); ++s) {
      if (call.stream != kNone && call.stream != s) continue;
      const std::uint32_t op = last_issued(s, call.start);
      if (op == kNone || end_of(rank_.device_ops[op]) > end_of(call) + 1'000) continue;
      if (best == kNone || end_of(rank_.device_ops[op]) > end_of(rank_.device_ops[best])) best = op;
    }
    if (best == kNone) return;
    const Nanoseconds done = end_of(rank_.device_ops[best]);
    if (call.stream == kNone && done < call.start) return;  // nothing to wait for
    add(i, {best}, WaitKind::synchronise, call.stream == kNone ? "host_waits_for_guessed_stream" : "host_waits_for_stream");
  }

  void own_copy(std::uint32_t i) {
    const std::uint32_t op = first_op_[i];
    if (op == kNone) return;
    if (end_of(rank_.device_ops[op]) <= end_of(rank_.calls[i])) {
      add(i, {op}, WaitKind::copy, "host_waits_for_copy");
    } else {
      full_queue(i);
    }
  }

  // A launch into a full queue returns when an earlier operation of its stream leaves it.
  void full_queue(std::uint32_t i) {
    const HostCall& call = rank_.calls[i];
    if (call.duration < kSlowLaunch || first_op_[i] == kNone) return;
    const std::uint32_t own = first_op_[i];
    const auto& list = issued_[rank_.device_ops[own].stream];
    const auto it = std::upper_bound(list.begin(), list.end(), end_of(call), [&](Nanoseconds t, std::uint32_t op) { return t < end_of(rank_.device_ops[op]); });
    const auto finished = static_cast<std::size_t>(it - list.begin());
    if (finished == 0 || place_[own] < finished + kShallowestFullQueue) return;
    const std::uint32_t left = list[finished - 1];
    if (end_of(rank_.device_ops[left]) < call.start || end_of(call) - end_of(rank_.device_ops[left]) > kHostWakesAfter) return;
    add(i, {left}, WaitKind::queue_full, "host_waits_for_full_queue");
  }

  const ImportedRun& run_;
  const RankTrace& rank_;
  Dependencies& result_;
  std::vector<std::vector<std::uint32_t>> issued_;
  std::vector<std::uint32_t> first_op_, place_;
  std::set<std::uint32_t> launching_;
};

}  // namespace

void recover_waits(const ImportedRun& run, const RankTrace& rank, Dependencies& result) { WaitFinder(run, rank, result).find(); }

}  // namespace sgsim::trace
