#include "sim/lower/lower.h"

#include <utility>

#include "sim/lower/lower_segmented.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/plan/legality.h"

namespace sgsim::lower {

std::variant<Lowered, std::vector<plan::Violation>> lower(const Request& request) {
  auto violations = plan::check_plan(request.model, request.plan, request.cluster);
  if (!violations.empty()) return violations;
  const SegmentedModel model = segment_model(request.graph, request.model, request.plan, request.training);
  Diagnostics diagnostics;
  const TaskCosts costs = with_stack(profile_costs(request.profile, request.training.execution, diagnostics), request.profile, request.training.stack);
  const ShapeOf shape_of = [&](std::span<const GpuId> members, double concurrent) { return cluster::group_shape(request.cluster, members, concurrent); };
  Lowered lowered = lower_segmented(model, request.plan, request.training, request.cluster, shape_of, costs, {.merge_lockstep = request.merge_lockstep});
  lowered.diagnostics.merge(diagnostics);
  for (plan::Note& note : plan::plan_notes(request.model, request.plan, request.cluster)) lowered.notes.push_back(std::move(note));
  return lowered;
}

}  // namespace sgsim::lower
