#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/dependencies.h"

namespace sgsim::replay {

/// Operations that outlast a later one of their stream, taken out of the stream's order: each begins after what was before it, and holds back only what began
/// after its end. What is left of every stream ends in the order in which it begins.
struct Overlaps {
  trace::Dependencies dependencies;      // as given, with the order within streams stated anew
  std::vector<std::uint32_t> lane;       // by device operation: kNone, or index in `lane_stream`
  std::vector<std::uint32_t> lane_stream;// by lane: the stream beside which it runs
  std::vector<bool> beside;              // by device operation: it began while one with a lane of its stream ran
  std::uint64_t moved = 0;               // operations with a lane
  std::uint64_t not_kept = 0;            // that would need more lanes than kMostLanes: the next operation waits for their end
};

/// Lanes of a rank, over its streams, beyond which overlaps are not kept.
inline constexpr std::size_t kMostLanes = 64;

/// "import.replay.overlaps_of_several_kept" and "overlaps_not_kept".
void tell_overlaps(const Overlaps& overlaps, const std::string& whose, Diagnostics& report);

[[nodiscard]] Overlaps separate_overlaps(const trace::RankTrace& rank, const trace::Dependencies& dependencies);

}  // namespace sgsim::replay
