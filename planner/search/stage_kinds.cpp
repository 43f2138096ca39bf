#include "planner/search/stage_kinds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/plan/legality.h"

namespace sgsim::search {
namespace {

ChunkKind chunk_kind(const LayerCosts& costs, std::vector<std::uint32_t> positions) {
  ChunkKind kind;
  kind.positions = std::move(positions);
  for (const std::uint32_t at : kind.positions) {
    const SegmentCost& segment = costs.segments[at];
    kind.is_layer.push_back(segment.role == lower::SegmentRole::layer);
    kind.forward = lower::then(kind.forward, segment.forward);
    kind.saved += segment.saved;
    kind.dense += segment.dense;
    kind.expert += segment.expert;
    kind.replicated += segment.replicated;
    kind.tensors += segment.tensors;
    kind.boundary = segment.boundary;
  }
  for (std::size_t i = kind.positions.size(); i-- > 0;) kind.backward = lower::then(kind.backward, costs.segments[kind.positions[i]].backward);
  return kind;
}

template <class Key>
std::uint32_t index_of(std::map<Key, std::uint32_t>& known, const Key& key) {
  return known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
}

}  // namespace

Stages stages_of(const LayerCosts& costs, const plan::Plan& plan) {
  plan::ModelShape shape;
  shape.layers = static_cast<std::int64_t>(costs.layers.size());
  const std::vector<int> counts = plan::chunk_layers(shape, plan);
  Stages stages;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_chunks, known_stages;
  auto next = costs.layers.begin();
  for (std::size_t g = 0; g < counts.size(); ++g) {
    std::vector<std::uint32_t> positions;
    if (g == 0) positions = costs.before;
    positions.insert(positions.end(), next, next + counts[g]);
    next += counts[g];
    if (g + 1 == counts.size()) positions.insert(positions.end(), costs.after.begin(), costs.after.end());
    const std::uint32_t kind = index_of(known_chunks, positions);
    if (kind == stages.chunk_kinds.size()) stages.chunk_kinds.push_back(chunk_kind(costs, std::move(positions)));
    stages.chunks.push_back(kind);
  }
  for (int s = 0; s < plan.pp; ++s) {
    std::vector<std::uint32_t> chunks;
    for (std::size_t g = static_cast<std::size_t>(s); g < stages.chunks.size(); g += static_cast<std::size_t>(plan.pp)) chunks.push_back(stages.chunks[g]);
    const std::uint32_t kind = index_of(known_stages, chunks);
    if (kind == stages.kinds.size()) stages.kinds.push_back(std::move(chunks));
    stages.stages.push_back(kind);
  }
  return stages;
}

double tied_elements(const LayerCosts& costs, const plan::Plan& plan) {
  double tied = 0.0;
  if (plan.pp > 1) {
    for (const std::uint32_t at : costs.after) tied += costs.segments[at].tied;
  }
  return tied;
}

}  // namespace sgsim::search
