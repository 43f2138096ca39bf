#pragma once

#include <string>

#include "sim/engine/engine.h"
#include "tests/support/catch.h"
#include "tests/support/engine/program_builder.h"

namespace sgsim::testing {

/// A cluster with one GPU a node and one NIC of 10 bytes/s, so that hand-worked transfers take whole seconds.
inline cluster::Cluster slow_cluster(int nodes, int gpus_per_node = 1) {
  cluster::Cluster cluster;
  cluster.name = "test";
  cluster.nodes = nodes;
  cluster.node.name = "node";
  cluster.node.gpus = gpus_per_node;
  cluster.node.nics = 1;
  cluster.node.nic = {.bandwidth = BytesPerSecond(10.0), .latency = Seconds(0.0)};
  cluster.fabric.kind = cluster::FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = nodes;
  return cluster;
}

inline timeline::Timeline run_engine(const std::string& engine, const lower::Workload& workload, const cluster::Cluster& cluster) {
  const engine::Folded folded = engine::unfolded(workload);
  const engine::Options options{.spans_of = {}, .all_spans = true};
  return engine == "fast" ? engine::run_fast(folded, options) : engine::run_simgrid(folded, cluster, options);
}

inline const timeline::Span& span_of(const timeline::Timeline& timeline, std::uint32_t rank, std::uint32_t task) {
  for (const timeline::Span& span : timeline.spans) {
    if (span.rank == rank && span.task == task) return span;
  }
  throw std::out_of_range("no such span");
}

/// Both engines must have run the task from `start` to `end` seconds.
inline void check_span(const timeline::Timeline& timeline, std::uint32_t rank, std::uint32_t task, double start, double end) {
  INFO(timeline.engine << ", rank " << rank << ", task " << task);
  const timeline::Span& span = span_of(timeline, rank, task);
  CHECK(span.start.value() == Approx(start).epsilon(1e-12).margin(1e-12));
  CHECK(span.end.value() == Approx(end).epsilon(1e-12).margin(1e-12));
}

inline void check_accounting(const timeline::Timeline& timeline, std::uint32_t rank, double compute, double exposed, double overlapped, double bubble, double host_bound) {
  INFO(timeline.engine << ", rank " << rank);
  const timeline::Accounting& a = timeline.ranks.at(rank);
  CHECK(a.compute.value() == Approx(compute).epsilon(1e-12).margin(1e-12));
  CHECK(a.exposed_comm.value() == Approx(exposed).epsilon(1e-12).margin(1e-12));
  CHECK(a.overlapped_comm.value() == Approx(overlapped).epsilon(1e-12).margin(1e-12));
  CHECK(a.bubble.value() == Approx(bubble).epsilon(1e-12).margin(1e-12));
  CHECK(a.host_bound.value() == Approx(host_bound).epsilon(1e-12).margin(1e-12));
}

}  // namespace sgsim::testing
