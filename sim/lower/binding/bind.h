#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/lower/lower.h"
#include "sim/lower/program/piece.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::lower {

/// Shape of a communicator; cluster::group_shape, or a fake.
using ShapeOf = std::function<cluster::GroupShape(std::span<const GpuId>, double concurrent_groups_per_node)>;

struct Bound {
  Workload workload;
  std::vector<std::uint32_t> stage_of;   // of each program
  bool merging_is_exact = true;          // merged collectives (workload.h, Part) mean what they would mean one by one
};

/// Gives every rank its GPU (rank r on GPU r), its communicators and a program: one for each stage, and one more for each set of
/// ranks whose communicators have other shapes than their peers' (uneven placement, slow or failed links). Transfers are
/// priced here. Groups of one kind and stage work at the same time and share each node's NICs.
[[nodiscard]] Bound bind(std::vector<Skeleton> stages, const plan::Plan& plan, int shard_group, const cluster::Cluster& cluster,
                         const ShapeOf& shape_of, const TaskCosts& costs);

}  // namespace sgsim::lower
