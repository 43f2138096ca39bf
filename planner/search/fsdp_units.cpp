#include "planner/search/fsdp_units.h"

#include <algorithm>

#include "sim/graph/dtype.h"
#include "sim/lower/data_parallel/fsdp.h"
#include "sim/lower/data_parallel/multi_tensor.h"

namespace sgsim::search {
namespace {

using lower::RunCost;

/// What the units' transfers and copies take.
class UnitPrices {
 public:
  explicit UnitPrices(const StateSetting& s) : s_(s) {}

  [[nodiscard]] UnitTimes of(const Gathered& unit) const {
    const lower::StateTypes& types = s_.types;
    const bool hybrid = s_.plan.sharding == plan::Sharding::hybrid, copies = s_.training.stack.fsdp_copy_kernels;
    const int ranks = unit.expert ? s_.expert_shards : s_.shards;
    const cluster::GroupShape& group = unit.expert && s_.plan.ep > 1 ? s_.expert_data : hybrid ? s_.shard : s_.data;
    const double part = unit.elements / ranks, kept = unit.trained / ranks;
    UnitTimes t;
    if (ranks > 1) {
      t.gather = transfer(graph::CollectiveOp::all_gather, unit.elements, types.parameter, group);
      t.reduce = transfer(graph::CollectiveOp::reduce_scatter, unit.trained, types.gradient, group);
    }
    if (hybrid && s_.replicate.ranks > 1) t.replicate = transfer(graph::CollectiveOp::all_reduce, kept, types.gradient, s_.replicate);
    if (copies) {
      t.copy_in = gather_copies(part, unit.tensors);
      t.copy_out = kernels(copy(bytes(unit.elements, types.parameter), bytes(unit.elements, types.parameter)), 1, lower::fsdp_copy_out_operators(unit.tensors));
    }
    if (copies || types.raw_gradient != types.gradient) t.reduce_copy = reduce_copy(unit);
    t.accumulate = accumulation(bytes(unit.trained, types.raw_gradient), unit.trained_tensors);
    t.accumulate_shard = accumulation(bytes(kept, types.gradient), unit.trained_tensors);
    return t;
  }

 private:
  [[nodiscard]] static Bytes bytes(double elements, graph::DType dtype) { return Bytes(elements * graph::size_of(dtype)); }
  [[nodiscard]] static graph::MemoryBound copy(Bytes read, Bytes written) { return {.kind = graph::MemoryKind::copy, .read = read, .written = written, .flops = Flops()}; }
  [[nodiscard]] double transfer(graph::CollectiveOp op, double elements, graph::DType dtype, const cluster::GroupShape& group) const {
    return group.ranks > 1 && elements > 0.0 ? s_.costs.collective(op, bytes(elements, dtype), group).time().value() : 0.0;
  }
  [[nodiscard]] RunCost kernels(const graph::Work& work, int launches, int operators) const {
    if (captured(s_)) {
      const Seconds device = s_.costs.launch.device_gap + s_.costs.kernel(work).time;
      return lower::repeat({.device = device, .issue_to_end = device, .host = Seconds()}, launches);
    }
    return side_kernels({.name = {}, .work = work, .launches = launches, .operators = operators}, s_.costs);
  }
  [[nodiscard]] RunCost gather_copies(double part, int tensors) const {
    const int launches = lower::multi_tensor_launches(part, tensors, 64);
    const Bytes kept = bytes(part, s_.types.kept) / launches, sent = bytes(part, s_.types.parameter) / launches;
    const RunCost pack = kernels(copy(sent, sent), launches, lower::fsdp_gather_operators(tensors) - 1);
    return s_.types.kept != s_.types.parameter ? lower::then(kernels(copy(kept, sent), launches, 1), pack) : pack;
  }
  [[nodiscard]] RunCost reduce_copy(const Gathered& unit) const {
    graph::MemoryBound work = copy(bytes(unit.trained, s_.types.raw_gradient), bytes(unit.trained, s_.types.gradient));
    if (s_.training.stack.fsdp_copy_kernels && s_.types.raw_gradient != s_.types.gradient) work.flops = Flops(lower::kFsdpChunkCatFlops * unit.trained);
    return kernels(work, 1, lower::fsdp_reduce_operators(unit.trained_tensors));
  }
  [[nodiscard]] RunCost accumulation(Bytes all, int tensors) const {
    const Bytes each = all / static_cast<double>(std::max(1, tensors));
    return kernels(graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = each * 2.0, .written = each, .flops = Flops()}, tensors, tensors);
  }

  const StateSetting& s_;
};

}  // namespace

std::vector<UnitPart> units_of(const LayerCosts& costs, const ChunkKind& kind, int layers_per_unit) {
  UnitPart root{.root = true};
  std::vector<UnitPart> layers;
  int seen = 0;
  for (std::size_t p = 0; p < kind.positions.size(); ++p) {
    const SegmentCost& segment = costs.segments[kind.positions[p]];
    UnitPart* unit = &root;
    if (kind.is_layer[p]) {
      if (seen++ % layers_per_unit == 0) layers.push_back({.first = p, .last = p});
      layers.back().last = p;
      unit = &layers.back();
    }
    unit->elements += segment.dense + segment.expert + segment.frozen;
    unit->expert += segment.expert + segment.frozen_expert;
    unit->trained += segment.dense + segment.expert;
    unit->trained_expert += segment.expert;
    const auto experts = static_cast<int>(std::count_if(segment.gradients.begin(), segment.gradients.end(), [](const GradientPart& g) { return g.expert; }));
    unit->trained_tensors += segment.tensors;
    unit->trained_expert_tensors += experts;
    unit->tensors += segment.tensors + segment.frozen_tensors;
    unit->expert_tensors += experts + segment.frozen_expert_tensors;
  }
  std::vector<UnitPart> units;
  if (root.elements > 0.0) units.push_back(root);
  units.insert(units.end(), layers.begin(), layers.end());
  return units;
}

std::vector<Gathered> gathered_units(const LayerCosts& costs, const ChunkKind& kind, int layers_per_unit) {
  std::vector<Gathered> all;
  for (const UnitPart& unit : units_of(costs, kind, layers_per_unit)) {
    Gathered part{.elements = unit.elements - unit.expert, .trained = unit.trained - unit.trained_expert, .tensors = unit.tensors - unit.expert_tensors,
                  .trained_tensors = unit.trained_tensors - unit.trained_expert_tensors, .first = unit.first, .last = unit.last, .root = unit.root, .expert = false};
    if (part.tensors > 0) all.push_back(part);
    part.elements = unit.expert, part.trained = unit.trained_expert, part.tensors = unit.expert_tensors, part.trained_tensors = unit.trained_expert_tensors, part.expert = true;
    if (part.tensors > 0) all.push_back(part);
  }
  return all;
}

UnitTimes unit_times(const StateSetting& setting, const Gathered& unit) { return UnitPrices(setting).of(unit); }

}  // namespace sgsim::search
