#include <algorithm>
#include <numeric>

#include "sim/trace/match.h"
#include "sim/trace/recover.h"

namespace sgsim::trace {

void recover_order(const RankTrace& rank, Dependencies& result) {
  const std::size_t count = rank.device_ops.size();
  result.issue.assign(count, kNoTime);
  result.stream_before.assign(count, kNone);
  std::vector<std::uint32_t> last(rank.streams.size(), kNone);
  const auto first = std::find_if(rank.device_ops.begin(), rank.device_ops.end(), [](const DeviceOp& op) { return op.start != kNoTime; });
  const bool no_host = rank.calls.empty() && first != rank.device_ops.end();  // a file without host: it was always ahead
  if (no_host) result.report.add("import.dependencies.no_host_in_file", Severity::warning, rank.file);
  for (std::uint32_t i = 0; i < count; ++i) {  // by start
    const DeviceOp& op = rank.device_ops[i];
    if (op.start == kNoTime) continue;
    Nanoseconds issue = op.call != kNone ? rank.calls[op.call].start : (no_host ? first->start : op.start) - kLeastLaunch;
    if (op.call != kNone && rank.calls[op.call].duration > kSlowLaunch && op.start >= end_of(rank.calls[op.call])) {
      issue = end_of(rank.calls[op.call]) - kLeastLaunch;  // the launch came at the end of a slow call (loading a module, a full queue)
    }
    if (op.call != kNone && op.start < rank.calls[op.call].start) {
      result.report.add("import.dependencies.kernels_begin_before_launch", Severity::error, rank_name(rank) + ": launch " + std::to_string(op.correlation) + ", by " + std::to_string(rank.calls[op.call].start - op.start) + " ns");
    }
    const std::uint32_t before = last[op.stream];
    if (before != kNone && result.issue[before] > issue) {  // a stream keeps its order, whatever the launches say
      issue = result.issue[before];
      if (op.call != kNone) result.report.add("import.dependencies.launches_out_of_order", Severity::warning, std::to_string(op.correlation));
    }
    if (op.call == kNone && !no_host) result.report.add("import.dependencies.launch_time_guessed", Severity::warning, std::to_string(op.correlation));
    result.issue[i] = issue;
    result.stream_before[i] = before;
    last[op.stream] = i;
    result.order.push_back(i);
  }
  std::stable_sort(result.order.begin(), result.order.end(), [&](std::uint32_t a, std::uint32_t b) { return result.issue[a] < result.issue[b]; });
}

void count_without_dependants(const ImportedRun& run, const RankTrace& rank, Dependencies& result) {
  std::vector<bool> waited_for(rank.device_ops.size(), false);
  for (const std::uint32_t before : result.stream_before) {
    if (before != kNone) waited_for[before] = true;
  }
  for (const StreamEdge& edge : result.edges) waited_for[edge.from] = true;
  for (const HostWait& wait : result.waits) {
    for (const std::uint32_t op : wait.device_ops) waited_for[op] = true;
  }
  for (const Edge& edge : rank.edges) {
    if (edge.from.table == NodeTable::device_ops && edge.from.index < waited_for.size()) waited_for[edge.from.index] = true;
  }
  for (std::uint32_t i = 0; i < waited_for.size(); ++i) {
    if (!waited_for[i]) result.report.add("import.dependencies.without_dependants", Severity::info, rank_name(rank) + ": " + run.strings.at(rank.device_ops[i].name));
  }
}

Dependencies recover_dependencies(const ImportedRun& run, const RankTrace& rank) {
  Dependencies result;
  recover_order(rank, result);
  recover_edges(run, rank, result);
  recover_waits(run, rank, result);
  count_without_dependants(run, rank, result);
  return result;
}

}  // namespace sgsim::trace
