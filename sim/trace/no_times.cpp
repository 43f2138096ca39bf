#include "sim/trace/no_times.h"

#include <fmt/format.h>

#include <algorithm>

namespace sgsim::trace {

bool has_start_times(const ImportedRun& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankTrace& rank) { return std::any_of(rank.device_ops.begin(), rank.device_ops.end(), [](const DeviceOp& op) { return op.start != kNoTime; }); });
}

InputError no_device_times(const ImportedRun& run, const RankTrace& rank) {
  if (!rank.device_ops.empty()) {
    return InputError({.file = rank.file, .where = "", .found = fmt::format("{} kernels, copies and memsets, none with a start time", rank.device_ops.size()), .expected = "a trace that says when each began",
                       .hint = "sgsim replay simulates it from durations and dependencies; with --trace OUT it writes a timeline that can be compared"});
  }
  for (const char* what : {"dropped.time_overflows", "dropped.duration_overflows"}) {
    const std::string counter = "import." + run.format + "." + what;
    const auto found = run.report.entries().find(counter);
    if (found == run.report.entries().end()) continue;
    return InputError({.file = rank.file, .where = "", .found = fmt::format("no kernel, copy or memset with times: {} events were dropped because their times overflow ({}, e.g. {})", found->second.count, counter, found->second.example),
                       .expected = "times that fit 63 bits of nanoseconds", .hint = "record again: the counter's example names an event that is off"});
  }
  return InputError({.file = rank.file, .where = "", .found = "no kernel, copy or memset with times", .expected = "a trace of a GPU", .hint = run.format == "kineto" ? "record with ProfilerActivity.CUDA" : "give the profile of the same run beside it: this file tells operators or a graph, and no GPU's work"});
}

}  // namespace sgsim::trace
