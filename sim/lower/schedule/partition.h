#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/lower/segments.h"
#include "sim/plan/plan.h"

namespace sgsim::lower {

/// One segment of the model at its place.
struct Position {
  std::uint32_t segment = 0;   // SegmentedModel::segments
  int layer = -1;              // index among the layers; -1: before or after them
  std::string label;           // "layer 12", "before"
  bool operator==(const Position&) const = default;
};

/// A stretch of positions that one pipeline rank runs as one.
struct Chunk {
  int index = 0;               // in model order; stage = index % pp, virtual stage = index / pp
  std::vector<Position> positions;
  bool operator==(const Chunk&) const = default;
};

/// Chunks of each pipeline stage, by virtual stage. What stands before the layers goes to the first chunk, what stands
/// after them to the last; the layers as plan::chunk_layers says, with Plan::recompute_layers of each chunk recomputed.
[[nodiscard]] std::vector<std::vector<Chunk>> partition(const SegmentedModel& model, const plan::Plan& plan);

}  // namespace sgsim::lower
