#pragma once

#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/cluster/placement.h"
#include "sim/lower/program/actions.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// Shape of the communicator `slot` of the first rank of pipeline stage `stage`, while all groups of its kind and stage share the
/// NICs of its first node, as lowering's binding has it. Rank r on GPU r. Of groups that a slow or failed link touches, the slowest.
[[nodiscard]] cluster::GroupShape slot_shape(const cluster::Cluster& cluster, const plan::Plan& plan, int shard_group, lower::Slot slot, int stage);

/// Speed of each stage's slowest GPU (cluster faults), for which its groups wait in every layer or at the end of the step.
[[nodiscard]] std::vector<double> stage_speeds(const cluster::Cluster& cluster, const plan::Plan& plan);

}  // namespace sgsim::search
