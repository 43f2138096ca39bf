#include "sim/trace/no_times.h"

#include <fmt/format.h>

namespace sgsim::trace {

InputError no_device_times(const ImportedRun& run, const RankTrace& rank) {
  if (!rank.device_ops.empty()) {
    return InputError({.file = rank.file, .where = "", .found = fmt::format("{} kernels, copies and memsets, none with a start time", rank.device_ops.size()), .expected = "a trace that says when each began",
                       .hint = "sgsim import reads this file and sgsim export --to chakra writes it, but durations alone cannot be replayed or compared"});
  }
  for (const char* what : {"dropped.time_overflows", "dropped.duration_overflows"}) {
    const std::string counter = "import." + run.format + "." + what;
    const auto found = run.report.entries().find(counter);
    if (found == run.report.entries().end()) continue;
    return InputError({.file = rank.file, .where = "", .found = fmt::format("no kernel, copy or memset with times: {} events were dropped because their times overflow ({}, e.g. {})", found->second.count, counter, found->second.example),
                       .expected = "times that fit 63 bits of nanoseconds", .hint = ""});
  }
  return InputError({.file = rank.file, .where = "", .found = "no kernel, copy or memset with times", .expected = "a trace of a GPU", .hint = run.format == "kineto" ? "record with ProfilerActivity.CUDA" : ""});
}

}  // namespace sgsim::trace
