#pragma once

#include "sim/lower/binding/bind.h"
#include "sim/lower/lower.h"
#include "sim/lower/program/task_costs.h"
#include "sim/lower/segments.h"

namespace sgsim::lower {

/// lower() from where the model is segmented and the costs are known: no legality check, no graph. Callers that try many
/// plans cache SegmentedModel (segments.h) and TaskCosts and come in here.
[[nodiscard]] Lowered lower_segmented(const SegmentedModel& model, const plan::Plan& plan, const Training& training,
                                      const cluster::Cluster& cluster, const ShapeOf& shape_of, const TaskCosts& costs);

}  // namespace sgsim::lower
