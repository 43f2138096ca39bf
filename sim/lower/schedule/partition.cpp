#include "sim/lower/schedule/partition.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/plan/legality.h"

namespace sgsim::lower {

std::vector<std::vector<Chunk>> partition(const SegmentedModel& model, const plan::Plan& plan) {
  std::vector<Position> before, layers, after;
  std::vector<std::uint32_t> kept;   // segments of the layers without recomputation
  for (const std::uint32_t index : model.kept_order) {
    if (model.segments[index].role == SegmentRole::layer) kept.push_back(index);
  }
  SGSIM_CHECK(plan.recompute_layers == 0 || !kept.empty(), "a plan that recomputes some layers needs both kinds of them");
  for (const std::uint32_t index : model.order) {
    const ModelSegment& segment = model.segments[index];
    if (segment.role == SegmentRole::layer) {
      const int layer = static_cast<int>(layers.size());
      layers.push_back({.segment = index, .layer = layer, .label = fmt::format("layer {}", layer)});
    } else {
      auto& side = layers.empty() && segment.role == SegmentRole::before ? before : after;
      side.push_back({.segment = index, .layer = -1, .label = segment.name});
    }
  }
  plan::ModelShape shape;
  shape.layers = static_cast<std::int64_t>(layers.size());
  const std::vector<int> counts = plan::chunk_layers(shape, plan);
  std::vector<std::vector<Chunk>> stages(static_cast<std::size_t>(plan.pp));
  auto next = layers.begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    SGSIM_CHECK(layers.end() - next >= counts[i], "more layers in the stages than in the model");
    Chunk chunk{.index = static_cast<int>(i), .positions = {}};
    if (i == 0) chunk.positions = before;
    chunk.positions.insert(chunk.positions.end(), next, next + counts[i]);
    for (std::size_t p = chunk.positions.size() - static_cast<std::size_t>(counts[i]) + static_cast<std::size_t>(plan.recompute_layers); plan.recompute_layers > 0 && p < chunk.positions.size(); ++p) {
      chunk.positions[p].segment = kept[static_cast<std::size_t>(chunk.positions[p].layer)];
    }
    next += counts[i];
    if (i + 1 == counts.size()) chunk.positions.insert(chunk.positions.end(), after.begin(), after.end());
    stages[i % stages.size()].push_back(std::move(chunk));
  }
  SGSIM_CHECK(next == layers.end(), "fewer layers in the stages than in the model");
  return stages;
}

}  // namespace sgsim::lower
