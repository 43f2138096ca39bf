#pragma once

#include <functional>
#include <vector>

#include "sim/lower/program/actions.h"
#include "sim/lower/schedule/partition.h"
#include "sim/lower/stack.h"

namespace sgsim::lower {

/// Sends and receives around a chunk's passes. Chunk g receives activations from chunk g - 1 and sends to g + 1, and
/// gradients the other way; the first and the last chunk of the model have one neighbour only.
struct ChunkBoundary {
  std::vector<Action> before_forward, after_forward, before_backward, after_backward;
};

/// Last sends of a stage, in either direction.
struct SendTokens {
  Token forward, backward;
};

/// `sent` is shared by the stage's chunks.
[[nodiscard]] ChunkBoundary chunk_boundary(const SegmentedModel& model, const std::vector<std::vector<Chunk>>& stages, const Chunk& chunk,
                                           const plan::Plan& plan, const Stack& stack, const SendTokens& sent, const std::function<Token()>& new_token);

}  // namespace sgsim::lower
