#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/trace/dependencies.h"

namespace sgsim::replay {

using trace::Nanoseconds;

/// What launching costs on the machine of a trace, by what was launched: measured where it shows, averaged over the trace.
enum class OpClass : std::uint8_t { kernel, copy, set, communication, graph_first, graph_next };

struct Timing {
  std::map<OpClass, Nanoseconds> latency;  // from the begin of a launch to the start of its kernel on an idle stream: median
  std::map<OpClass, Nanoseconds> gap;      // between the end of one operation and the start of the next that was queued: mean
  std::vector<Nanoseconds> own_gap;        // by device operation: kept from the trace where it overruns, begins beside another of its stream or idles without a reason (else 0)
  std::vector<bool> keeps_own;
  Nanoseconds unexplained = 0;             // sum of idle gaps without a reason, kept as measured
  std::uint64_t unexplained_count = 0;
};

/// The class of each device operation.
[[nodiscard]] std::vector<OpClass> classes_of(const trace::RankTrace& rank);
/// `waits_for_members`: by device operation, whether it starts when its members do: then idleness before it is their doing, and none of its own. `beside`: whether
/// it began while another of its stream ran on (Overlaps::beside): its gap says when that one let it begin, and nothing about others. Empty: none.
[[nodiscard]] Timing measure_timing(const trace::RankTrace& rank, const trace::Dependencies& dependencies, const std::vector<OpClass>& classes, const std::vector<bool>& waits_for_members = {},
                                    const std::vector<bool>& beside = {});

}  // namespace sgsim::replay
