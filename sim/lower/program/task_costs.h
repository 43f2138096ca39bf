#pragma once

#include <functional>
#include <optional>

#include "sim/cluster/placement.h"
#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/cost/cost.h"
#include "sim/cost/power.h"
#include "sim/graph/collective.h"
#include "sim/graph/work.h"

namespace sgsim::lower {

/// Interference by what runs beside a collective: kernels take `compute` times as long, its transfer `transfer` times.
struct ClassInterference {
  struct Pair {
    double compute = 1.0, transfer = 1.0;
  };
  Pair product, attention, memory_bound;
};

/// Host time that DTensor's dispatch adds (times "host.pytorch.dtensor.*").
struct TensorWrapper {
  Seconds forward, backward;              // a linear layer; backward: both its products
  Seconds collective;                     // a redistribution, the c10d call excluded
  Seconds optimizer_loop, optimizer_fused;  // an optimizer step, a tensor
};

/// All that lowering asks of the cost model. Tests fill it by hand; profile_costs() fills it from a profile.
struct TaskCosts {
  std::function<cost::Estimate(const graph::Work&)> kernel;
  std::function<cost::TransferEstimate(graph::CollectiveOp, Bytes, const cluster::GroupShape&)> collective;
  std::function<cost::Interference(bool inter_node)> interference;
  cost::LaunchModel launch;  // of the model's kernels, in the execution mode
  cost::LaunchModel eager;   // of what the framework launches around them: optimizer, hooks, collectives
  std::optional<cost::PowerModel> power = {};    // times are of bursts at full clock; nothing: they hold as they are
  std::optional<ClassInterference> beside = {};  // inside a node; takes the place of `interference` there
  std::optional<TensorWrapper> wrapper = {};     // set where tensor parallelism goes through DTensor
};

/// Costs from a profile. Equal work is priced once; `diagnostics` must outlive the result.
[[nodiscard]] TaskCosts profile_costs(const cost::Profile& profile, compile::Execution execution, Diagnostics& diagnostics);

/// What DTensor adds on the host, where the profile has it measured.
[[nodiscard]] std::optional<TensorWrapper> dtensor_costs(const cost::Profile& profile);

}  // namespace sgsim::lower
