#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/lower/workload.h"
#include "sim/replay/replay.h"
#include "sim/trace/match.h"

namespace sgsim::replay {

using Channel = std::pair<std::uint32_t, std::uint32_t>;  // group of the run, and the pair within it that sends and receives (trace::Matched::channel)

/// The communicators of the imported ranks.
struct Channels {
  std::map<Channel, std::vector<std::uint16_t>> slots;  // by rank of the run
  /// Of an operation that all imported members of its communicator, two at least, take part in; else nothing.
  [[nodiscard]] const std::vector<std::uint16_t>* slots_of(const trace::Matched& operation) const;
  std::map<Channel, std::size_t> members;
};

/// Adds a group to the workload for each communicator with two or more imported members. `workload` has its ranks.
[[nodiscard]] Channels add_channels(const trace::ImportedRun& run, const trace::Matching& matching, lower::Workload& workload);

/// Counts in are counts out: every collective with a kernel is in the programs, kind by kind ("import.replay.collectives.<kind>", "collectives_left_out.<kind>").
void count_collectives(const trace::ImportedRun& run, Built& built);

}  // namespace sgsim::replay
