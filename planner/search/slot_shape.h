#pragma once

#include "sim/cluster/cluster.h"
#include "sim/cluster/placement.h"
#include "sim/lower/program/actions.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// Shape of the communicator `slot` of the first rank of pipeline stage `stage`, while all groups of its kind and stage share the
/// NICs of its first node, as lowering's binding has it. Rank r on GPU r.
[[nodiscard]] cluster::GroupShape slot_shape(const cluster::Cluster& cluster, const plan::Plan& plan, int shard_group, lower::Slot slot, int stage);

}  // namespace sgsim::search
