#include "sim/replay/timing.h"

#include <algorithm>

#include "sim/trace/recover.h"

namespace sgsim::replay {
namespace {

using trace::DeviceKind;
using trace::DeviceOp;
using trace::kNone;

/// An operation that could have started this much earlier is idle for another reason than the usual gap (1 to 3 us).
constexpr Nanoseconds kIdle = 20'000;
/// Stand-ins where a trace shows no case of a class: what A100 and H200 traces show for kernels.
constexpr Nanoseconds kUsualLatency = 9'000, kUsualGap = 1'500;

Nanoseconds median(std::vector<Nanoseconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Nanoseconds mean(const std::vector<Nanoseconds>& values) {
  Nanoseconds sum = 0;
  for (const Nanoseconds v : values) sum += v;
  return sum / static_cast<Nanoseconds>(values.size());
}

template <class Reduce>
std::map<OpClass, Nanoseconds> reduce(const std::map<OpClass, std::vector<Nanoseconds>>& samples, Nanoseconds usual, Reduce of) {
  std::map<OpClass, Nanoseconds> result;
  for (const OpClass c : {OpClass::kernel, OpClass::copy, OpClass::set, OpClass::communication, OpClass::graph_first, OpClass::graph_next}) {
    const auto own = samples.find(c);
    const auto kernel = samples.find(OpClass::kernel);
    result[c] = own != samples.end() ? of(own->second) : kernel != samples.end() ? of(kernel->second) : usual;
  }
  return result;
}

}  // namespace

std::vector<OpClass> classes_of(const trace::RankTrace& rank) {
  std::vector<OpClass> classes;
  std::vector<bool> launched(rank.calls.size(), false);
  for (const DeviceOp& op : rank.device_ops) {
    if (op.call != kNone && rank.calls[op.call].kind == trace::CallKind::graph_launch) {
      classes.push_back(launched[op.call] ? OpClass::graph_next : OpClass::graph_first);
      launched[op.call] = true;
    } else if (op.collective != kNone) {
      classes.push_back(OpClass::communication);
    } else {
      classes.push_back(op.kind == DeviceKind::copy ? OpClass::copy : op.kind == DeviceKind::set ? OpClass::set : OpClass::kernel);
    }
  }
  return classes;
}

Timing measure_timing(const trace::RankTrace& rank, const trace::Dependencies& d, const std::vector<OpClass>& classes, const std::vector<bool>& waits_for_members,
                      const std::vector<bool>& beside) {
  Timing timing;
  const std::size_t count = rank.device_ops.size();
  timing.own_gap.assign(count, 0);
  timing.keeps_own.assign(count, false);
  std::vector<Nanoseconds> held(count, trace::kNoTime);
  for (const trace::StreamEdge& e : d.edges) held[e.to] = std::max(held[e.to], trace::end_of(rank.device_ops[e.from]));
  std::vector<bool> full(rank.calls.size(), false);
  for (const trace::HostWait& w : d.waits) full[w.call] = full[w.call] || w.kind == trace::WaitKind::queue_full;

  std::map<OpClass, std::vector<Nanoseconds>> latencies, gaps;
  for (const std::uint32_t i : d.order) {
    const DeviceOp& op = rank.device_ops[i];
    const std::uint32_t before = d.stream_before[i];
    const Nanoseconds stream = std::max(held[i], before == kNone ? trace::kNoTime : trace::end_of(rank.device_ops[before]));
    const bool launched = op.call != kNone && !full[op.call];
    if (launched && classes[i] != OpClass::graph_next && (stream == trace::kNoTime || stream < d.issue[i])) latencies[classes[i]].push_back(op.start - d.issue[i]);
  }
  timing.latency = reduce(latencies, kUsualLatency, median);
  std::vector<std::pair<std::uint32_t, Nanoseconds>> idle;
  for (const std::uint32_t i : d.order) {
    if (!waits_for_members.empty() && waits_for_members[i]) continue;
    const DeviceOp& op = rank.device_ops[i];
    const std::uint32_t before = d.stream_before[i];
    if (before == kNone && held[i] == trace::kNoTime) continue;
    const Nanoseconds stream = std::max(held[i], before == kNone ? trace::kNoTime : trace::end_of(rank.device_ops[before]));
    const Nanoseconds ready = classes[i] == OpClass::graph_next ? trace::kNoTime : d.issue[i] + timing.latency[classes[i]];
    if (ready > stream) continue;  // the host came later: no gap to see
    const Nanoseconds gap = op.start - stream;
    if (gap < 0 || (!beside.empty() && beside[i])) {
      timing.own_gap[i] = std::max(gap, -op.duration);
      timing.keeps_own[i] = true;
    } else if (gap > kIdle) {
      idle.emplace_back(i, gap);
    } else {
      gaps[classes[i]].push_back(gap);
    }
  }
  timing.gap = reduce(gaps, kUsualGap, mean);
  for (const auto& [i, gap] : idle) {
    timing.own_gap[i] = gap;
    timing.keeps_own[i] = true;
    timing.unexplained += gap;
    ++timing.unexplained_count;
  }
  return timing;
}

}  // namespace sgsim::replay
