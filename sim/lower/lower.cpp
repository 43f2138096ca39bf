#include "sim/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/lower/lower_segmented.h"
#include "sim/lower/segments.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/plan/legality.h"

namespace sgsim::lower {
namespace {

bool shards_anything(const SegmentedModel& model) {
  return std::any_of(model.segments.begin(), model.segments.end(), [](const ModelSegment& segment) {
    return std::any_of(segment.parameters.begin(), segment.parameters.end(), [](const ParameterShard& p) { return p.tensor_sharded; });
  });
}

plan::Violation nothing_to_shard(const Request& request) {
  const auto& nodes = request.graph.nodes;
  const auto parameters = std::count_if(nodes.begin(), nodes.end(), [](const graph::Node& node) { return node.kind == graph::NodeKind::parameter; });
  return {.rule = "tp_shards_nothing",
          .message = fmt::format("tensor parallel {} divides none of the graph's {} parameters (no attention or feed-forward block is recognised), so that {} ranks would do the work of one; use tp = 1",
                                 request.plan.tp, parameters, request.plan.tp)};
}

}  // namespace

std::variant<Lowered, std::vector<plan::Violation>> lower(const Request& request) {
  auto violations = plan::check_plan(request.model, request.plan, request.cluster);
  if (!violations.empty()) return violations;
  violations = graph_violations(request.graph, request.plan);
  if (!violations.empty()) return violations;
  const SegmentedModel model = segment_model(request.graph, request.model, request.plan, request.training);
  Diagnostics diagnostics;
  if (request.plan.tp > 1 && !shards_anything(model)) return std::vector<plan::Violation>{nothing_to_shard(request)};
  const TaskCosts costs = request_costs(request, diagnostics);
  const ShapeOf shape_of = [&](std::span<const GpuId> members, double concurrent) { return cluster::group_shape(request.cluster, members, concurrent); };
  Lowered lowered = lower_segmented(model, request.plan, request.training, request.cluster, shape_of, costs, {.merge_lockstep = request.merge_lockstep});
  lowered.diagnostics.merge(diagnostics);
  for (plan::Note& note : plan::plan_notes(request.model, request.plan, request.cluster)) lowered.notes.push_back(std::move(note));
  return lowered;
}

}  // namespace sgsim::lower
