#include "sim/lower/data_parallel/parameters.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace sgsim::lower {
namespace {

// Stages that hold each tensor outside the repeated layers (only those can be tied).
std::map<std::string, std::set<std::size_t>> stages_of_side_tensors(const SegmentedModel& model, const std::vector<std::vector<Chunk>>& stages) {
  std::map<std::string, std::set<std::size_t>> where;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const Chunk& chunk : stages[s]) {
      for (const Position& position : chunk.positions) {
        if (position.layer >= 0) continue;
        const ModelSegment& segment = model.segments[position.segment];
        for (const auto* shards : {&segment.parameters, &segment.shared_parameters}) {
          for (const ParameterShard& shard : *shards) where[shard.name].insert(s);
        }
      }
    }
  }
  return where;
}

}  // namespace

std::vector<std::vector<OwnedParameter>> owned_parameters(const SegmentedModel& model, const std::vector<std::vector<Chunk>>& stages, int stage) {
  const auto where = stages_of_side_tensors(model, stages);
  std::vector<std::vector<OwnedParameter>> chunks;
  std::set<std::string> held;
  for (const Chunk& chunk : stages[static_cast<std::size_t>(stage)]) {
    std::vector<OwnedParameter> parameters;
    for (std::uint32_t p = 0; p < chunk.positions.size(); ++p) {
      const Position& position = chunk.positions[p];
      const ModelSegment& segment = model.segments[position.segment];
      const bool side = position.layer < 0;
      const auto last = static_cast<std::uint32_t>(segment.backward.size());
      for (const auto* shards : {&segment.parameters, &segment.shared_parameters}) {
        if (!side && shards == &segment.shared_parameters) continue;  // of the same stage
        for (const ParameterShard& shard : *shards) {
          if (side && !held.insert(shard.name).second) continue;
          parameters.push_back({.shard = &shard, .position = p, .ready_at = std::min(shard.ready_at + 1, last),
                                .tied_elsewhere = side && where.at(shard.name).size() > 1});
        }
      }
    }
    chunks.push_back(std::move(parameters));
  }
  return chunks;
}

std::vector<std::vector<OwnedParameter>> trained_of(const std::vector<std::vector<OwnedParameter>>& chunks) {
  std::vector<std::vector<OwnedParameter>> result;
  for (const auto& chunk : chunks) {
    auto& trained = result.emplace_back();
    std::ranges::copy_if(chunk, std::back_inserter(trained), [](const OwnedParameter& p) { return p.shard->trained; });
  }
  return result;
}

double elements_of(const std::vector<OwnedParameter>& parameters) {
  double total = 0.0;
  for (const OwnedParameter& p : parameters) total += static_cast<double>(p.shard->elements);
  return total;
}

}  // namespace sgsim::lower
