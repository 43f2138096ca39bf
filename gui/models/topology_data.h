#pragma once

#include <QString>
#include <vector>

#include "gui/models/timeline_data.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/traffic/link_traffic.h"

namespace sgsim::gui {

/// What colours the GPUs; links have the colour of their own use, whatever is chosen.
enum class Usage : unsigned char { compute, inside, outside };

/// One direction of a link over the step.
struct LinkShare {
  double bytes = 0.0, bandwidth = 0.0;  // bytes; bytes/s, faults applied
  double share = 0.0;                   // bytes over what the link could carry in the step
};

/// One GPU as the topology shows it.
struct GpuUse {
  double compute = 0.0;           // share of the step in which it computes
  LinkShare nvlink, pcie;         // what it sends
  double inside_time = 0.0, outside_time = 0.0;  // shares of the step in which it transfers in its node, between nodes
  double speed = 1.0;             // faults: remaining speed of the GPU
  double nvlink_speed = 1.0;
  QString what;                   // rank and stage; empty: idle or not simulated
  [[nodiscard]] double share(Usage usage) const { return usage == Usage::compute ? compute : usage == Usage::inside ? nvlink.share : pcie.share; }
};
/// A port, or the trunk of a leaf switch.
struct PortUse {
  LinkShare up, down;
  double speed = 1.0;             // faults; 0: failed
  [[nodiscard]] double share() const { return up.share > down.share ? up.share : down.share; }
};
struct TopologyData {
  cluster::Cluster cluster;
  bool simulated = false;
  std::vector<GpuUse> gpus;       // by GpuId
  std::vector<PortUse> nics;      // by node * nics + index
  std::vector<PortUse> leaves;    // by leaf group: all its up-links together
  int leaf_groups = 1, leaves_per_group = 0;
  /// The most used link; its use is the scale that colours are read against when all are small.
  [[nodiscard]] QString busiest() const;
};

/// Of a cluster with (or, nothing simulated, without) what a run made of it. Rank r runs on GPU r, as lowering places it.
[[nodiscard]] TopologyData topology_of(const cluster::Cluster& cluster, const scenario::Run* run, const engine::LinkTraffic* traffic);

}  // namespace sgsim::gui
