#pragma once

#include <cstdint>
#include <vector>

#include "planner/search/candidate.h"
#include "sim/cluster/cluster.h"
#include "sim/graph/graph.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// Values that the search tries on each axis. Data parallelism takes what the others leave.
struct Axes {
  std::vector<int> nodes, tp, pp, cp, ep, virtual_stages;
  std::vector<std::int64_t> micro_batch;
  std::vector<plan::Schedule> schedule;
  std::vector<plan::Recompute> recompute;
  std::vector<plan::Sharding> sharding;
  std::vector<int> fsdp_prefetch, fsdp_layers_per_unit, hybrid_nodes;  // hybrid_nodes: nodes of one shard group
  std::vector<Bytes> buckets;
  bool some_recomputed = true;               // as few layers of each chunk recomputed as fit (Plan::recompute_layers)
  bool offload_optimizer = true, offload_activations = true;
  bool balanced_stages = true;               // in a pipeline also stages of equal time: fewer layers beside embedding and head (Plan::stage_layers)
};

/// What there is to try for a model on a cluster of `nodes`: every divisor of the GPUs as tp (up to four nodes), pp and cp, of
/// the experts as ep, powers of two as micro-batch, and for each sharding its options. `base` gives the global batch;
/// `fixed_micro_batch` > 0: the graph was captured with it.
[[nodiscard]] Axes default_axes(const plan::ModelShape& model, const cluster::Cluster& cluster, const plan::Plan& base,
                                const std::vector<int>& nodes, std::int64_t fixed_micro_batch);

/// Layouts that differ in their micro-batch only, ascending.
using Family = std::vector<Layout>;

struct Space {
  std::vector<Family> families;
  Rejections rejections;       // illegal before anything was computed; counts are plans with all their options
  std::uint64_t plans = 0;     // legal plans
  std::uint64_t considered = 0;  // legal and illegal
};

/// Every legal layout of the axes. Legality is plan::check_plan's, and lower::graph_violations' where a graph is given. A family with
/// Plan::recompute_layers 1 stands for any number of them between none and all. Options that a layout may not have are counted under their rule.
[[nodiscard]] Space enumerate(const Axes& axes, const plan::ModelShape& model, const cluster::Cluster& cluster, const plan::Plan& base,
                              const graph::OperatorGraph* graph = nullptr);

/// Data-parallel options of a layout, in a fixed order; with optimizer offload the second half repeats the first with it. One rank: DDP without
/// buckets.
[[nodiscard]] std::vector<StateOption> state_options(const Axes& axes, const Layout& layout, const cluster::Cluster& cluster);

/// Whether the layout may keep activations in host memory; then each of its plans is there twice.
[[nodiscard]] bool offloads_activations(const Axes& axes, const Layout& layout);
/// Whether the layout may have stages of equal time too; then each of its plans is there twice.
[[nodiscard]] bool balances_stages(const Axes& axes, const Layout& layout);
/// Plans of a layout: options, and again with offloaded activations or balanced stages.
[[nodiscard]] std::uint64_t plans_of(const Axes& axes, const Layout& layout, const cluster::Cluster& cluster);

/// `cluster` with that many nodes; faults of nodes that are gone are dropped.
[[nodiscard]] cluster::Cluster resized(cluster::Cluster cluster, int nodes);

}  // namespace sgsim::search
