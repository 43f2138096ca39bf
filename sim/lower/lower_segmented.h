#pragma once

#include "sim/lower/binding/bind.h"
#include "sim/lower/lower.h"
#include "sim/lower/program/task_costs.h"
#include "sim/lower/segments.h"

namespace sgsim::lower {

struct LowerOptions {
  /// Tensor-parallel collectives that the next kernel waits for become parts of the compute tasks around them (workload.h, Part),
  /// which makes programs some twenty times shorter. Exact or not done: only where ranks that differ in nothing but their place in
  /// their tensor-parallel groups run one program at full speed, and where the host never holds back the middle of a run.
  bool merge_lockstep = false;
};

/// lower() from where the model is segmented and the costs are known: no legality check, no graph. Callers that try many
/// plans cache SegmentedModel (segments.h) and TaskCosts and come in here.
[[nodiscard]] Lowered lower_segmented(const SegmentedModel& model, const plan::Plan& plan, const Training& training,
                                      const cluster::Cluster& cluster, const ShapeOf& shape_of, const TaskCosts& costs,
                                      const LowerOptions& options = {});

}  // namespace sgsim::lower
