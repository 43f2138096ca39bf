#pragma once

#include <string>

#include "sim/core/error.h"
#include "sim/trace/imported_run.h"

namespace sgsim::exporting {

/// Whether any operation of the rank has a time.
[[nodiscard]] inline bool has_times(const trace::RankTrace& rank) {
  for (const trace::DeviceOp& op : rank.device_ops) {
    if (op.start != trace::kNoTime) return true;
  }
  for (const trace::HostOp& op : rank.ops) {
    if (op.start != trace::kNoTime) return true;
  }
  return false;
}

inline void require_times(const trace::RankTrace& rank, const char* format) {
  if (has_times(rank)) return;
  throw InputError({.file = rank.file, .where = "", .found = "a run without times", .expected = std::string("times, to write a ") + format + " file", .hint = "write Chakra, which needs none"});
}

/// The earliest time of a rank.
[[nodiscard]] inline trace::Nanoseconds first_time(const trace::RankTrace& rank) {
  trace::Nanoseconds first = std::numeric_limits<trace::Nanoseconds>::max();
  const auto look = [&](const auto& table) {
    for (const auto& entry : table) {
      if (entry.start != trace::kNoTime) first = std::min(first, entry.start);
    }
  };
  look(rank.ops);
  look(rank.calls);
  look(rank.device_ops);
  look(rank.steps);
  return first == std::numeric_limits<trace::Nanoseconds>::max() ? 0 : first;
}

}  // namespace sgsim::exporting
