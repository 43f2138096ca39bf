#include "planner/validate/executable.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "planner/validate/at_power_limit.h"
#include "planner/validate/side_by_side.h"
#include "sim/core/error.h"
#include "sim/lower/lower_segmented.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/lower/segments.h"
#include "sim/plan/legality.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/report.h"

namespace sgsim::validate {
namespace {

using calibrate::ProgramTaskKind;

ProgramTaskKind kind_of(const scenario::Scenario& s, const lower::Task& task) {
  switch (task.kind) {
    case lower::TaskKind::compute: return ProgramTaskKind::compute;
    case lower::TaskKind::collective: return ProgramTaskKind::collective;
    case lower::TaskKind::send: return ProgramTaskKind::send;
    case lower::TaskKind::receive: return ProgramTaskKind::receive;
    default: break;
  }
  throw InputError({.file = s.file, .where = "$", .found = fmt::format("a task of kind {}", scenario::label(task.kind)), .expected = "kernels, collectives, sends and receives, which the executor has", .hint = "switch offloading or pipeline_host_sync off"});
}

const char* execution_word(compile::Execution execution) {
  switch (execution) {
    case compile::Execution::eager: return "-eager";
    case compile::Execution::compiled: return "-compiled";
    case compile::Execution::cuda_graph: return "-cuda_graph";
  }
  return "";
}

class Translator {
 public:
  explicit Translator(const scenario::Scenario& s) : scenario_(s) {}

  calibrate::RankProgram program(const lower::Program& p) {
    calibrate::RankProgram out{.name = p.name, .streams = p.streams, .tasks = {}, .segments = {}, .comms = {}};
    for (const lower::Segment& s : p.segments) out.segments.push_back(segment(p, s));
    for (const lower::Comm& c : p.comms) out.comms.push_back({.name = p.names.at(c.name.value), .slot = c.slot, .op = c.op, .bytes = std::max<std::int64_t>(2, std::llround(c.payload.value()))});
    for (const lower::Task& t : p.tasks) {
      calibrate::ProgramTask task{.kind = kind_of(scenario_, t), .stream = t.stream, .waits = {}, .comm = 0, .segment = 0, .micro_batch = t.micro_batch};
      for (std::uint32_t d = 0; d < t.dependency_count; ++d) {
        const lower::Dependency& dependency = p.dependencies.at(t.first_dependency + d);
        task.waits.push_back({.stream = dependency.stream, .position = dependency.position});
      }
      if (task.kind == ProgramTaskKind::compute) task.segment = t.segment;
      else task.comm = t.comm;
      out.tasks.push_back(std::move(task));
    }
    return out;
  }

 private:
  static calibrate::ProgramSegment segment(const lower::Program& p, const lower::Segment& s) {
    SGSIM_CHECK(s.part_count == 0, "programs to be executed are lowered without merged collectives");
    calibrate::ProgramSegment out{.name = p.names.at(s.name.value), .phase = std::string(scenario::phase_label(s.phase)), .kernels = {}};
    for (std::uint32_t k = 0; k < s.kernel_count; ++k) out.kernels.push_back(work_of(p.kernels.at(s.first_kernel + k)));
    return out;
  }

  const scenario::Scenario& scenario_;
};

/// What is executed for a bandwidth-bound kernel moves its bytes and computes next to nothing: its arithmetic, which can bind a fused
/// kernel of many exponentials, must not be in the time that is compared.
graph::Work without_arithmetic(graph::Work work) {
  if (auto* bytes = std::get_if<graph::MemoryBound>(&work)) bytes->flops = Flops(0.0);
  return work;
}

/// Launch costs of the executor in place of a framework's: what calls of CUDA, cuBLAS and NCCL take of the host, where the profile says
/// (times host.*, of sgsim-calibrate's launch group). No work of the host between steps.
cost::LaunchModel natively(cost::LaunchModel model, const cost::Profile& profile, bool graph, bool tells_libraries) {
  model.host_per_step = Seconds();
  const auto kernel = profile.times.find("host.kernel_enqueue");
  if (kernel == profile.times.end()) return model;
  const auto time = [&](const char* name) {
    const auto found = profile.times.find(name);
    return found == profile.times.end() ? kernel->second.value : found->second.value;
  };
  model.host_per_kernel = graph ? Seconds() : kernel->second.value;
  model.host_per_operator = tells_libraries ? std::max(Seconds(), time("host.library_enqueue") - kernel->second.value) : Seconds();
  model.host_per_collective = graph ? Seconds() : time("host.collective_enqueue");
  model.host_per_graph = graph ? time("graph.enqueue_fixed") : Seconds();
  model.host_backward_extra = Seconds();
  return model;
}

/// What runs of kernels on the main stream take beyond their kernels, a kernel.
Seconds mean_gap(const lower::Workload& workload) {
  Seconds gaps;
  double kernels = 0.0;
  for (const lower::Program& p : workload.programs) {
    for (const lower::Task& t : p.tasks) {
      if (t.kind != lower::TaskKind::compute || t.stream != 0) continue;
      const lower::Segment& segment = p.segments[t.segment];
      gaps += t.device;
      for (std::uint32_t k = 0; k < segment.kernel_count; ++k) gaps -= p.kernels[segment.first_kernel + k].estimate.time;
      kernels += segment.kernel_count;
    }
  }
  return kernels > 0.0 ? gaps / kernels : Seconds();
}

/// A receive is posted after the kernels before it, as PyTorch's process group does (ProcessGroupNCCL: its stream waits for the current
/// one). Posted at once, its thread blocks would spin beside the kernels until the message comes and hold the SMs that these need:
/// measured, products of two waves took twice as long.
void post_receives_after_kernels(lower::Program& p) {
  std::vector<lower::Dependency> dependencies;
  std::uint32_t kernels = 0;  // tasks of stream 0 by now
  for (lower::Task& t : p.tasks) {
    const auto first = static_cast<std::uint32_t>(dependencies.size());
    std::uint32_t waits_for_kernels = 0;
    for (std::uint32_t d = 0; d < t.dependency_count; ++d) {
      const lower::Dependency& dependency = p.dependencies[t.first_dependency + d];
      if (dependency.stream == 0) waits_for_kernels = std::max(waits_for_kernels, dependency.position);
      else dependencies.push_back(dependency);
    }
    if (t.kind == lower::TaskKind::receive && t.stream != 0) waits_for_kernels = std::max(waits_for_kernels, kernels);
    if (waits_for_kernels > 0) dependencies.push_back({.stream = 0, .position = waits_for_kernels});
    t.first_dependency = first;
    t.dependency_count = static_cast<std::uint32_t>(dependencies.size()) - first;
    if (t.stream == 0) ++kernels;
  }
  p.dependencies = std::move(dependencies);
}

/// Costs whose estimates carry the index of their work where their error stands, which nothing in this lowering reads: programs
/// hold times, not shapes, and this is how a kernel of a program finds its shape again.
lower::TaskCosts tagged(lower::TaskCosts costs, std::vector<graph::Work>& works) {
  auto index = std::make_shared<std::map<graph::Work, std::uint32_t>>();
  costs.kernel = [inner = std::move(costs.kernel), index, &works](const graph::Work& work) {
    cost::Estimate estimate = inner(without_arithmetic(work));
    const auto [found, added] = index->try_emplace(work, static_cast<std::uint32_t>(works.size()));
    if (added) works.push_back(work);
    estimate.sigma = static_cast<double>(found->second);
    return estimate;
  };
  return costs;
}

}  // namespace

scenario::Scenario as_executed(scenario::Scenario s) {
  lower::Stack& stack = s.training.stack;
  stack.optimizer_in_graph = true;
  stack.nccl_in_graph = true;
  stack.synchronize_each_step = false;
  stack.pipeline_host_sync = false;
  s.engine.name = scenario::EngineName::fast;
  s.engine.full = true;
  return s;
}

std::uint32_t work_of(const lower::KernelCost& kernel) { return static_cast<std::uint32_t>(std::lround(kernel.estimate.sigma)); }

std::variant<Prepared, std::vector<plan::Violation>> prepare(const scenario::Scenario& s, const scenario::Inputs& inputs, const scenario::RunEngine& engine) {
  auto violations = plan::check_plan(inputs.shape, s.plan, s.cluster);
  if (violations.empty()) violations = lower::graph_violations(*inputs.graph, s.plan);
  if (!violations.empty()) return violations;
  if (s.training.stack.float8_linear) throw InputError({.file = s.file, .where = "$.training.stack.float8_linear", .found = "true", .expected = "false: the executor has no 8-bit linear layers", .hint = ""});
  Prepared prepared;
  Diagnostics diagnostics;
  const lower::SegmentedModel model = lower::segment_model(*inputs.graph, inputs.shape, s.plan, s.training);
  lower::TaskCosts plain = lower::training_costs(*inputs.profile, s.training, diagnostics);
  const compile::Execution execution = s.training.execution;
  plain.launch = natively(plain.launch, *inputs.profile, execution == compile::Execution::cuda_graph, execution == compile::Execution::compiled);
  plain.eager = natively(plain.eager, *inputs.profile, false, false);
  plain.power.reset();  // at_power_limit.h takes the whole step, transfers included, where lowering takes one micro-batch; not both
  const lower::TaskCosts costs = tagged(std::move(plain), prepared.works);
  const lower::ShapeOf shape_of = [&](std::span<const GpuId> members, double concurrent) { return cluster::group_shape(s.cluster, members, concurrent); };
  lower::Lowered lowered = lower::lower_segmented(model, s.plan, s.training, s.cluster, shape_of, costs);
  prepared.memory = std::move(lowered.memory);
  for (lower::Program& p : lowered.workload.programs) post_receives_after_kernels(p);
  const scenario::EngineRequest every_rank{.choice = {.name = scenario::EngineName::fast, .full = true}, .record = scenario::Record::everything, .ranks = {}};
  prepared.simulation = engine(lowered.workload, s.cluster, every_rank);
  prepared.clocks = clocks_of(prepared, *inputs.profile);
  prepared.gap = mean_gap(lowered.workload);
  slow_beside_transfers(prepared, *inputs.profile, lowered.workload);
  take_turns(prepared, lowered.workload);
  prepared.simulation = engine(at_clocks(std::move(lowered.workload), prepared.works, *inputs.profile, prepared.clocks), s.cluster, every_rank);
  return prepared;
}

calibrate::ExecutableProgram executable(const scenario::Scenario& s, const scenario::Inputs& inputs, const Prepared& prepared) {
  const lower::Workload& workload = prepared.simulation.workload;
  calibrate::ExecutableProgram out{.name = std::filesystem::path(s.file).stem().string() + execution_word(s.training.execution), .about = fmt::format("{}, {} layers, sequence {}; {}", inputs.model, s.model.layers > 0 ? s.model.layers : inputs.shape.layers, inputs.shape.sequence, scenario::plan_text(s.plan)), .graph = s.training.execution == compile::Execution::cuda_graph,
                                   .row = inputs.shape.hidden, .vocabulary = inputs.shape.vocab / std::max(1, s.training.stack.tensor_parallel_vocabulary ? s.plan.tp : 1), .works = prepared.works, .programs = {}, .ranks = {}, .groups = {}};
  Translator translator(s);
  for (const lower::Program& p : workload.programs) out.programs.push_back(translator.program(p));
  for (const lower::RankBinding& r : workload.ranks) {
    auto& rank = out.ranks.emplace_back();
    rank.program = r.program.value;
    for (const GroupId g : r.groups) rank.groups.push_back(g.value);
  }
  for (const lower::Group& g : workload.groups) {
    auto& group = out.groups.emplace_back();
    group.kind = g.kind;
    for (const RankId m : g.members) group.members.push_back(m.value);
  }
  return out;
}

}  // namespace sgsim::validate
