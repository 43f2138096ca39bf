#include "planner/search/memory_estimate.h"

#include <algorithm>
#include <cmath>

#include "planner/search/fsdp_units.h"
#include "sim/graph/dtype.h"
#include "sim/lower/data_parallel/optimizer.h"
#include "sim/lower/memory/runtime.h"

namespace sgsim::search {
namespace {

/// What FSDP adds while kernels run: unsharded units, gather buffers, raw gradients.
struct UnitMemory {
  double kept = 0.0;             // in a pipeline from pass to pass: units that are not resharded
  double gradients = 0.0;        // whole gradients of all units, where they are not reduced in every micro-batch
  double root = 0.0, root_gradient = 0.0;
  double layer_forward = 0.0, layer_backward = 0.0;  // beside the kernels of one unit, its gradient excluded
  double layer_gradient = 0.0;   // raw gradient of one unit
  double kept_units = 0.0;       // units that stay from forward to backward, without the root
};

UnitMemory unit_memory(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  UnitMemory memory;
  const bool pipeline = s.plan.pp > 1, each = s.training.stack.fsdp_reduce_each_micro_batch && !pipeline;
  const double parameter = graph::size_of(s.types.parameter), raw = graph::size_of(s.types.raw_gradient);
  double layers = 0.0, largest = 0.0, root = 0.0, trained = 0.0, trained_root = 0.0, largest_trained = 0.0;
  for (const UnitPart& unit : units_of(costs, kind, s.plan.fsdp.layers_per_unit)) {
    trained += unit.trained;
    if (unit.root) {
      root = unit.elements;
      trained_root = unit.trained;
      continue;
    }
    layers += unit.elements;
    largest = std::max(largest, unit.elements);
    largest_trained = std::max(largest_trained, unit.trained);
  }
  const bool reshards = s.plan.fsdp.reshard_after_forward;
  const double buffers = std::max(0, s.plan.fsdp.prefetch - 1) * largest * parameter;
  memory.root = root * parameter;
  memory.root_gradient = trained_root * raw;
  memory.layer_forward = (reshards ? largest * parameter : 0.0) + buffers;
  memory.layer_backward = reshards ? largest * parameter * (1.0 + s.plan.fsdp.prefetch) : 0.0;
  memory.layer_gradient = largest_trained * raw;
  if (!reshards) memory.kept_units = layers * parameter;
  if (!reshards && pipeline) {
    memory.kept = (root + layers) * parameter;
    memory.kept_units = memory.root = 0.0;
  }
  if (!each && s.plan.micro_batches() > 1) memory.gradients = trained * raw;
  return memory;
}

/// What positions before and after the layers keep, of those up to `last`.
double beside_layers(const LayerCosts& costs, const ChunkKind& kind, std::size_t last) {
  double saved = 0.0;
  for (std::size_t p = 0; p < last; ++p) saved += kind.is_layer[p] ? 0.0 : costs.segments[kind.positions[p]].saved;
  return saved;
}

/// While a chunk's pass runs, above what lives beside it. `growing`: the first backward pass, in which gradients that stay come one by one.
double pass_peak(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind, const UnitMemory& units, bool growing) {
  const double raw = graph::size_of(s.types.raw_gradient);
  const bool whole = units.gradients > 0.0;  // kept gradients; a new one is there for a moment only
  double peak = 0.0, saved = 0.0, later = 0.0, held = kind.held;
  if (growing) {
    for (std::size_t p = 0; p < kind.positions.size(); ++p) later += kind.is_layer[p] || !whole ? (costs.segments[kind.positions[p]].dense + costs.segments[kind.positions[p]].expert) * raw : 0.0;
  }
  const double all = later;
  for (std::size_t p = 0; p < kind.positions.size(); ++p) {
    const SegmentCost& segment = costs.segments[kind.positions[p]];
    const bool layer = kind.is_layer[p];
    saved += segment.saved;
    held -= segment.held;
    if (growing && (layer || !whole)) later -= (segment.dense + segment.expert) * raw;
    const double forward = segment.forward_peak + units.root + (layer ? units.layer_forward : 0.0);
    double backward = segment.backward_peak + units.root + (layer ? units.layer_backward : 0.0);
    if (whole && !growing) {
      backward = std::max(backward, backward - segment.backward_peak + units.layer_gradient);
    } else {
      backward += units.root_gradient + (layer ? units.layer_gradient : 0.0) + later;
    }
    // Of offloaded layers the one before is still or again there, at most.
    const double here = kind.offloaded > 0.0 ? std::min(saved, kind.fetched + segment.saved + beside_layers(costs, kind, p)) : saved;
    peak = std::max(peak, here + std::max(forward, backward + held));
  }
  return std::max({peak, all, 2.0 * units.root}) + units.kept_units;
}

int communicators(const plan::Plan& p, const lower::Training& training, std::size_t stage, bool tied) {
  const bool hybrid = p.sharding == plan::Sharding::hybrid;
  int count = (p.tp > 1 ? 1 : 0) + (p.cp > 1 ? 1 : 0) + (p.ep > 1 ? 2 : 0) + (p.dp * p.cp > 1 ? (hybrid ? 2 : 1) : 0);
  const bool first = stage == 0, last = stage + 1 == static_cast<std::size_t>(p.pp);
  if (p.pp > 1) count += (p.virtual_stages == 1 && (first || last)) ? 2 : 4;
  if (tied && p.pp > 1 && (first || last)) ++count;
  if (training.clip_gradients && p.tp * p.pp > 1) ++count;
  return count;
}

}  // namespace

std::vector<std::vector<Beside>> live_beside(const std::vector<std::vector<lower::PassStep>>& orders, const Stages& stages) {
  std::vector<std::vector<Beside>> beside;
  for (std::size_t s = 0; s < orders.size(); ++s) {
    const auto& chunks = stages.kinds[stages.stages[s]];
    std::vector<Beside> most(chunks.size());
    double live = 0.0;
    bool late = false;
    for (const lower::PassStep& step : orders[s]) {
      const auto v = static_cast<std::size_t>(step.virtual_stage);
      const ChunkKind& kind = stages.chunk_kinds[chunks[v]];
      if (step.gradients == lower::Gradients::weights) {
        live -= kind.held;
        continue;
      }
      const double kept = kind.saved - kind.offloaded;
      if (!step.forward) live -= kept;
      double& here = late ? most[v].late : most[v].early;
      here = std::max(here, live);
      if (step.forward) live += kept;
      if (step.gradients == lower::Gradients::inputs) live += kind.held;
      late = late || !step.forward;
    }
    beside.push_back(std::move(most));
  }
  return beside;
}

Bytes state_memory(const StateSetting& s, double dense, double expert) {
  const double kept = std::ceil(dense / s.shards) + std::ceil(expert / s.expert_shards), all = dense + expert;
  const bool sharded = lower::fully_sharded(s.plan.sharding);
  double bytes = (sharded ? kept * graph::size_of(s.types.kept) : all * graph::size_of(s.types.parameter)) + (s.plan.offload.optimizer ? 0.0 : kept * lower::optimizer_state_bytes(s.types, s.training.optimizer));
  if (sharded) {
    bytes += kept * graph::size_of(s.types.gradient);
  } else if (s.types.main_gradient || s.plan.dp * s.plan.cp > 1) {
    bytes += (s.plan.sharding == plan::Sharding::zero2 ? kept : all) * graph::size_of(s.types.gradient);
    if (bucket_copies(s) && s.plan.micro_batches() > 1) bytes += all * graph::size_of(s.types.gradient);
  } else if (s.plan.micro_batches() > 1) {
    bytes += all * graph::size_of(s.types.gradient);
  }
  return Bytes(bytes);
}

namespace {

/// One replica, or gradients beside DDP's buckets, without micro-batches to add up: gradients grow while activations go.
bool gradients_grow(const StateSetting& s) {
  const bool sharded = lower::fully_sharded(s.plan.sharding) && s.shards > 1;
  return !sharded && (s.plan.dp * s.plan.cp == 1 || bucket_copies(s)) && !s.types.main_gradient && s.plan.micro_batches() == 1;
}

}  // namespace

ChunkMemory chunk_memory(const StateSetting& s, const LayerCosts& costs, const ChunkKind& kind) {
  const bool single = gradients_grow(s);
  const UnitMemory units = lower::fully_sharded(s.plan.sharding) && s.shards > 1 ? unit_memory(s, costs, kind) : UnitMemory{};
  const double late = pass_peak(s, costs, kind, units, single);
  const bool growing = single || units.gradients > 0.0;
  return {.early = growing == single ? late : pass_peak(s, costs, kind, units, growing), .late = late, .kept = units.kept, .gradients = units.gradients};
}

Figures stage_memory(const StateSetting& s, const LayerCosts& costs, const Stages& stages, const std::vector<ChunkMemory>& memory, std::size_t stage,
                     const std::vector<Beside>& beside, const cluster::Gpu& gpu) {
  const auto& chunks = stages.kinds[stages.stages[stage]];
  double dense = 0.0, expert = 0.0, frozen = 0.0, early = 0.0, late = 0.0, kept = 0.0, gradients = 0.0;
  for (std::size_t v = 0; v < chunks.size(); ++v) {
    const ChunkKind& kind = stages.chunk_kinds[chunks[v]];
    const ChunkMemory& own = memory[chunks[v]];
    dense += kind.dense;
    expert += kind.expert;
    frozen += lower::fully_sharded(s.plan.sharding) ? (kind.frozen - kind.frozen_expert) / s.shards + kind.frozen_expert / s.expert_shards : kind.frozen;
    kept += own.kept;
    gradients += own.gradients;
    early = std::max(early, beside[v].early + own.early);
    late = std::max(late, beside[v].late + own.late);
  }
  const double peak = std::max(early, late + gradients) + kept;
  const double tied = tied_elements(costs, s.plan);
  const lower::RuntimeMemory runtime = lower::runtime_memory(gpu, communicators(s.plan, s.training, stage, tied > 0.0), s.training.execution);
  const Bytes held(frozen * graph::size_of(lower::fully_sharded(s.plan.sharding) ? s.types.kept : s.types.parameter));
  const Bytes allocated = state_memory(s, dense, expert) + held + Bytes(peak) + runtime.workspaces;
  return {.step_time = {}, .reserved = lower::reserved_of(allocated, runtime), .needed = allocated + runtime.communication + runtime.context};
}

}  // namespace sgsim::search
