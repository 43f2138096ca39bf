#pragma once

#include <functional>

#include "sim/cluster/placement.h"
#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/cost/cost.h"
#include "sim/graph/collective.h"
#include "sim/graph/work.h"

namespace sgsim::lower {

/// All that lowering asks of the cost model. Tests fill it by hand; profile_costs() fills it from a profile.
struct TaskCosts {
  std::function<cost::Estimate(const graph::Work&)> kernel;
  std::function<cost::TransferEstimate(graph::CollectiveOp, Bytes, const cluster::GroupShape&)> collective;
  std::function<cost::Interference(bool inter_node)> interference;
  cost::LaunchModel launch;  // of the model's kernels, in the execution mode
  cost::LaunchModel eager;   // of what the framework launches around them: optimizer, hooks, collectives
};

/// Costs from a profile. Equal work is priced once; `diagnostics` must outlive the result.
[[nodiscard]] TaskCosts profile_costs(const cost::Profile& profile, compile::Execution execution, Diagnostics& diagnostics);

}  // namespace sgsim::lower
