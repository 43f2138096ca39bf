#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/dtype.h"
#include "sim/lower/schedule/partition.h"
#include "sim/lower/segments.h"

namespace sgsim::lower {

/// A parameter at the place where a stage holds it.
struct OwnedParameter {
  const ParameterShard* shard = nullptr;
  std::uint32_t position = 0;   // in the chunk; its gradient is complete in this position's backward list,
  std::uint32_t ready_at = 0;   // before this kernel
  bool tied_elsewhere = false;  // the same tensor also lives on another stage (tied embeddings)

  [[nodiscard]] Bytes bytes(graph::DType dtype) const { return Bytes(static_cast<double>(shard->elements) * graph::size_of(dtype)); }
};

/// Parameters of each chunk of a stage in model order. A tensor that several positions of the stage use (tied
/// embeddings on one stage) is held once, at its first use, where its gradient is complete last.
[[nodiscard]] std::vector<std::vector<OwnedParameter>> owned_parameters(const SegmentedModel& model, const std::vector<std::vector<Chunk>>& stages, int stage);

[[nodiscard]] double elements_of(const std::vector<OwnedParameter>& parameters);

/// Those of them that are trained, chunk by chunk.
[[nodiscard]] std::vector<std::vector<OwnedParameter>> trained_of(const std::vector<std::vector<OwnedParameter>>& chunks);

}  // namespace sgsim::lower
