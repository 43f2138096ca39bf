#include "planner/search/exact.h"

#include <algorithm>
#include <utility>

#include "planner/search/axes.h"
#include "sim/lower/lower_segmented.h"
#include "sim/lower/program/stack_costs.h"

namespace sgsim::search {

double exact_work(const Candidate& candidate, std::int64_t layers) {
  return static_cast<double>(candidate.plan.micro_batches()) * static_cast<double>(std::max<std::int64_t>(1, layers));
}

Exact::Exact(const Problem& problem, LayerCostTable& table)
    : problem_(problem), table_(table), inputs_(problem.cache.load(problem.scenario)),
      costs_(lower::training_costs(*inputs_.profile, problem.scenario.training, diagnostics_)) {}

Figures Exact::evaluate(const Candidate& candidate, const scenario::EngineChoice& engine) {
  const auto layers = table_.get(candidate);
  const cluster::Cluster cluster = resized(problem_.scenario.cluster, candidate.nodes);
  const lower::ShapeOf shape_of = [&](std::span<const GpuId> members, double concurrent) { return cluster::group_shape(cluster, members, concurrent); };
  const bool merge = engine.name == scenario::EngineName::fast && !engine.full;
  costs_.wrapper = lower::tensor_wrapper(*inputs_.profile, candidate.plan, problem_.scenario.training);
  lower::Lowered lowered = lower::lower_segmented(*layers->model, candidate.plan, problem_.scenario.training, cluster, shape_of, costs_, {.merge_lockstep = merge});
  Figures figures;
  for (const lower::Memory& memory : lowered.memory) {
    const Bytes outside = memory.at_peak.by_class[static_cast<std::size_t>(lower::MemoryClass::runtime)];  // communicators and context
    figures.reserved = std::max(figures.reserved, memory.reserved);
    figures.needed = std::max(figures.needed, memory.peak + memory.graph_pool + outside);
  }
  figures.step_time = problem_.engine(std::move(lowered.workload), cluster, {.choice = engine, .record = scenario::Record::nothing, .ranks = {}}).timeline.step_time;
  return figures;
}

}  // namespace sgsim::search
