#include "sim/lower/lower_segmented.h"

#include <utility>

#include "sim/lower/binding/layout.h"
#include "sim/lower/memory/runtime.h"
#include "sim/lower/program/power.h"
#include "sim/lower/program/stage.h"

namespace sgsim::lower {
namespace {

// Recomputed kernels of one micro-batch on one rank of every stage.
Flops recomputed_flops(const std::vector<std::vector<Chunk>>& stages, const std::vector<SegmentLaunches>& segments) {
  Flops total;
  for (const auto& chunks : stages) {
    for (const Chunk& chunk : chunks) {
      for (const Position& position : chunk.positions) {
        for (const Launch& launch : segments[position.segment].recompute) {
          // Kernels bound by bytes carry what their instructions are worth, no operations of the model.
          if (!launch.kernel->is_communication && !std::holds_alternative<graph::MemoryBound>(launch.kernel->work)) total += launch.estimate.flops;
        }
      }
    }
  }
  return total;
}

// AdamW over the trained parameters of all stages, as one rank of each holds them, for one micro-batch: parameter, gradient and two moments
// read, all but the gradient written. Stands for other optimizers, whose share is smaller.
OptimizerLoad optimizer_load(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const TaskCosts& costs) {
  if (training.optimizer == Optimizer::none) return {};
  double elements = 0.0;
  for (const std::uint32_t index : model.order) {
    for (const ParameterShard& parameter : model.segments[index].parameters) elements += parameter.trained ? static_cast<double>(parameter.elements) : 0.0;
  }
  if (plan.sharding != plan::Sharding::ddp) elements /= plan.dp * plan.cp;
  const double size = graph::size_of(training.autocast ? training.parameter_dtype : training.compute_dtype);
  graph::MemoryBound whole{.kind = graph::MemoryKind::optimizer, .read = Bytes(4.0 * size * elements), .written = Bytes(3.0 * size * elements), .flops = Flops()};
  const auto micro_batches = static_cast<double>(plan.micro_batches());
  const Seconds time = costs.kernel(whole).time / micro_batches;
  whole.read = whole.read / micro_batches;
  whole.written = whole.written / micro_batches;
  return {.work = whole, .time = time};
}

// Gathers of pipeline boundaries wait for earlier collectives on the tensor-parallel stream, which merging would hide.
bool can_merge(const plan::Plan& plan, const Stack& stack) { return plan.tp > 1 && !(stack.scatter_gather_boundary && plan.pp > 1); }

struct Stages {
  Bound bound;
  std::vector<Memory> memory;   // by stage
};

Stages build_stages(const StageInput& input, const cluster::Cluster& cluster, const ShapeOf& shape_of) {
  std::vector<Skeleton> skeletons;
  Stages out;
  for (int s = 0; s < input.plan.pp; ++s) {
    Stage stage = build_stage(input, s);
    const auto communicators = static_cast<int>(stage.skeleton.slots.size());
    out.memory.push_back(replay_memory(stage, runtime_memory(cluster.node.gpu, communicators, input.training.execution)));
    skeletons.push_back(std::move(stage.skeleton));
  }
  out.bound = bind(std::move(skeletons), input.plan, input.shard_group, cluster, shape_of, input.costs);
  return out;
}

}  // namespace

Lowered lower_segmented(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const cluster::Cluster& cluster,
                        const ShapeOf& shape_of, const TaskCosts& costs, const LowerOptions& options) {
  std::vector<SegmentLaunches> segments = price_plan(model, plan, training, costs);
  if (costs.power) apply_power_limit(segments, model, *costs.power, optimizer_load(model, plan, training, costs));
  const auto stages = partition(model, plan);
  const int shard_group = resolved_shard_group(plan, cluster.node.gpus);
  StageInput input{.model = model, .segments = segments, .stages = stages, .plan = plan, .training = training, .costs = costs, .shard_group = shard_group, .merge_lockstep = options.merge_lockstep && can_merge(plan, training.stack), .host_link = host_link_of(cluster.node)};
  Stages built = build_stages(input, cluster, shape_of);
  if (!built.bound.merging_is_exact) {
    input.merge_lockstep = false;
    built = build_stages(input, cluster, shape_of);
  }
  Lowered lowered;
  for (const std::uint32_t s : built.bound.stage_of) lowered.memory.push_back(built.memory[s]);
  lowered.workload = std::move(built.bound.workload);
  const auto passes = static_cast<double>(plan.micro_batches() * plan.dp);
  lowered.model_flops = model.model_flops * passes;
  lowered.above_diagonal_flops = model.above_diagonal_flops * passes;
  lowered.hardware_flops = lowered.model_flops + recomputed_flops(stages, segments) * (passes * plan.tp * plan.cp);
  lowered.notes = model.notes;
  lowered.diagnostics.merge(model.diagnostics);
  return lowered;
}

}  // namespace sgsim::lower
