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
    kind.held += segment.held;
    kind.dense += segment.dense;
    kind.expert += segment.expert;
    kind.frozen += segment.frozen;
    kind.frozen_expert += segment.frozen_expert;
    kind.replicated += segment.replicated;
    kind.tensors += segment.tensors;
    kind.tensor_sharded += segment.tensor_sharded;
    kind.boundary = segment.boundary;
  }
  for (std::size_t i = kind.positions.size(); i-- > 0;) {
    kind.backward = lower::then(kind.backward, costs.segments[kind.positions[i]].backward);
    kind.inputs = lower::then(kind.inputs, costs.segments[kind.positions[i]].inputs);
  }
  return kind;
}

/// Copies of layers' activations beside the kernels: what they add where the link is slower (lower::add_activation_offload).
void offload(const LayerCosts& costs, const lower::HostLink& link, ChunkKind& kind) {
  std::vector<std::size_t> layers;
  for (std::size_t p = 0; p < kind.positions.size(); ++p) {
    if (kind.is_layer[p]) layers.push_back(p);
  }
  if (layers.size() < 2) return;
  layers.pop_back();
  const auto segment = [&](std::size_t p) -> const SegmentCost& { return costs.segments[kind.positions[p]]; };
  const auto copied = [&](std::size_t p) { return host_copy_time(link, Bytes(segment(p).saved)).value(); };
  const auto leaves = [&](std::size_t p) { return std::find(layers.begin(), layers.end(), p) != layers.end(); };
  double time = 0.0, out = 0.0, back = 0.0, plain = 0.0;
  for (std::size_t p = 0; p < kind.positions.size(); ++p) {
    time += segment(p).forward.device.value();
    plain += segment(p).forward.device.value();
    if (p > 0 && leaves(p - 1)) time = std::max(time, out);
    if (leaves(p)) out = std::max(out, time) + copied(p);
  }
  kind.forward.device += Seconds(time - plain);
  time = plain = 0.0;
  for (std::size_t p = kind.positions.size(); p-- > 0;) {
    if (leaves(p)) time = std::max(time, back);
    if (p > 0 && leaves(p - 1)) back = std::max(back, time) + copied(p - 1);
    time += segment(p).backward.device.value();
    plain += segment(p).backward.device.value();
  }
  kind.backward.device += Seconds(time - plain);
  for (const std::size_t p : layers) {
    kind.offloaded += segment(p).saved;
    kind.fetched = std::max(kind.fetched, segment(p).saved);
  }
}

template <class Key>
std::uint32_t index_of(std::map<Key, std::uint32_t>& known, const Key& key) {
  return known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
}

}  // namespace

Stages stages_of(const LayerCosts& costs, const plan::Plan& plan, const lower::HostLink& link) {
  plan::ModelShape shape;
  shape.layers = static_cast<std::int64_t>(costs.layers.size());
  const std::vector<int> counts = plan::chunk_layers(shape, plan);
  Stages stages;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_chunks, known_stages;
  auto next = costs.layers.begin();
  for (std::size_t g = 0; g < counts.size(); ++g) {
    std::vector<std::uint32_t> positions;
    if (g == 0) positions = costs.before;
    const std::size_t first = positions.size();
    positions.insert(positions.end(), next, next + counts[g]);
    for (std::size_t p = first + static_cast<std::size_t>(plan.recompute_layers); plan.recompute_layers > 0 && p < positions.size(); ++p) {
      positions[p] = costs.kept_layers[static_cast<std::size_t>(next - costs.layers.begin()) + p - first];
    }
    next += counts[g];
    if (g + 1 == counts.size()) positions.insert(positions.end(), costs.after.begin(), costs.after.end());
    const std::uint32_t kind = index_of(known_chunks, positions);
    if (kind == stages.chunk_kinds.size()) {
      stages.chunk_kinds.push_back(chunk_kind(costs, std::move(positions)));
      if (plan.offload.activations) offload(costs, link, stages.chunk_kinds.back());
    }
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
