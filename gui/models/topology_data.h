#pragma once

#include <QString>
#include <vector>

#include "gui/models/timeline_data.h"
#include "sim/cluster/cluster.h"

namespace sgsim::gui {

enum class Usage : unsigned char { compute, nvlink, network };

/// One GPU as the topology shows it: shares of the step in which it computes, transfers inside its node, transfers between nodes.
struct GpuUse {
  double compute = 0.0, nvlink = 0.0, network = 0.0;
  double speed = 1.0;             // faults: remaining speed of the GPU
  double nvlink_speed = 1.0;
  QString what;                   // rank and stage; empty: idle or not simulated
  [[nodiscard]] double share(Usage usage) const { return usage == Usage::compute ? compute : usage == Usage::nvlink ? nvlink : network; }
};
struct NicUse {
  double network = 0.0;           // of the busiest GPU that sends through it
  double speed = 1.0;             // faults; 0: failed
};
struct TopologyData {
  cluster::Cluster cluster;
  bool simulated = false;
  std::vector<GpuUse> gpus;       // by GpuId
  std::vector<NicUse> nics;       // by node * nics + index
  int leaf_groups = 1, leaves_per_group = 0;
};

/// Of a cluster with (or, nothing simulated, without) what a run made of it. Rank r runs on GPU r, as lowering places it.
[[nodiscard]] TopologyData topology_of(const cluster::Cluster& cluster, const scenario::Run* run);

}  // namespace sgsim::gui
