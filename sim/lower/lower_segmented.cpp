#include "sim/lower/lower_segmented.h"

#include <optional>
#include <utility>

#include "sim/lower/binding/layout.h"
#include "sim/lower/memory/runtime.h"
#include "sim/lower/program/stage.h"

namespace sgsim::lower {
namespace {

// Recomputed kernels of one micro-batch on one rank of every stage.
Flops recomputed_flops(const SegmentedModel& model, const std::vector<SegmentLaunches>& segments) {
  Flops total;
  for (const std::uint32_t index : model.order) {
    for (const Launch& launch : segments[index].recompute) {
      if (!launch.kernel->is_communication) total += launch.estimate.flops;
    }
  }
  return total;
}

// Tensor-parallel groups stay in step when each lies in one node (all its ranks then have like neighbours everywhere) and
// nothing is slow.
std::optional<Lockstep> lockstep_of(const plan::Plan& plan, const cluster::Cluster& cluster, const ShapeOf& shape_of) {
  if (plan.tp == 1 || cluster.node.gpus % plan.tp != 0 || !cluster.faults.empty()) return std::nullopt;
  std::vector<GpuId> gpus;
  for (int t = 0; t < plan.tp; ++t) gpus.push_back(GpuId{static_cast<std::uint32_t>(t)});
  return Lockstep{.tensor = shape_of(gpus, 1.0)};
}

}  // namespace

Lowered lower_segmented(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const cluster::Cluster& cluster,
                        const ShapeOf& shape_of, const TaskCosts& costs, const LowerOptions& options) {
  const std::vector<SegmentLaunches> segments = price_segments(model, training.execution, training.stack.compile_layers_only, costs, training.stack.float8_linear);
  const auto stages = partition(model, plan);
  const int shard_group = resolved_shard_group(plan, cluster.node.gpus);
  const std::optional<Lockstep> lockstep = options.merge_lockstep ? lockstep_of(plan, cluster, shape_of) : std::nullopt;
  const StageInput input{.model = model, .segments = segments, .stages = stages, .plan = plan, .training = training, .costs = costs, .shard_group = shard_group, .lockstep = lockstep ? &*lockstep : nullptr};
  std::vector<Skeleton> skeletons;
  std::vector<Memory> memory;
  for (int s = 0; s < plan.pp; ++s) {
    Stage stage = build_stage(input, s);
    memory.push_back(replay_memory(stage, runtime_memory(cluster.node.gpu, static_cast<int>(stage.skeleton.slots.size()), training.execution)));
    skeletons.push_back(std::move(stage.skeleton));
  }
  Bound bound = bind(std::move(skeletons), plan, shard_group, cluster, shape_of, costs);
  Lowered lowered;
  for (const std::uint32_t s : bound.stage_of) lowered.memory.push_back(memory[s]);
  lowered.workload = std::move(bound.workload);
  const auto passes = static_cast<double>(plan.micro_batches() * plan.dp);
  lowered.model_flops = model.model_flops * passes;
  lowered.hardware_flops = lowered.model_flops + recomputed_flops(model, segments) * (passes * plan.tp * plan.cp);
  lowered.notes = model.notes;
  lowered.diagnostics.merge(model.diagnostics);
  return lowered;
}

}  // namespace sgsim::lower
