#include "gui/models/topology_data.h"

#include <algorithm>

#include "sim/cluster/topology.h"
#include "sim/scenario/labels.h"

namespace sgsim::gui {
namespace {

struct Shares {
  double nvlink = 0.0, network = 0.0;
  bool recorded = false;
};

/// Shares of the step in which a program's recorded rank transfers.
std::vector<Shares> shares_by_program(const scenario::Run& run) {
  const auto& workload = run.simulation.workload;
  const double step = std::max(run.simulation.timeline.step_time.value(), 1e-30);
  std::vector<Shares> shares(workload.programs.size());
  std::vector<std::uint32_t> recorded(workload.programs.size(), ~0u);
  for (const timeline::Span& span : run.simulation.timeline.spans) {
    const std::uint32_t p = workload.ranks.at(span.rank).program.value;
    if (recorded[p] == ~0u) recorded[p] = span.rank;
    if (recorded[p] != span.rank) continue;
    shares[p].recorded = true;
    const lower::Program& program = workload.programs[p];
    const lower::Task& task = program.tasks.at(span.task);
    if (task.kind != lower::TaskKind::collective && task.kind != lower::TaskKind::send && task.kind != lower::TaskKind::receive) continue;
    (program.comms.at(task.comm).transfer.inter_node ? shares[p].network : shares[p].nvlink) += (span.end - span.start).value() / step;
  }
  // Programs of a stage that were not recorded do as the recorded one does.
  for (std::size_t p = 0; p < shares.size(); ++p) {
    for (std::size_t q = 0; q < shares.size() && !shares[p].recorded; ++q) {
      if (shares[q].recorded && scenario::stage_name(workload.programs[q].name) == scenario::stage_name(workload.programs[p].name)) shares[p] = shares[q];
    }
  }
  for (Shares& s : shares) s = {std::min(1.0, s.nvlink), std::min(1.0, s.network), s.recorded};
  return shares;
}

}  // namespace

TopologyData topology_of(const cluster::Cluster& cluster, const scenario::Run* run) {
  TopologyData data{.cluster = cluster, .simulated = run != nullptr, .gpus = std::vector<GpuUse>(static_cast<std::size_t>(cluster.gpus())),
                    .nics = std::vector<NicUse>(static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(std::max(0, cluster.node.nics)))};
  const cluster::Topology topology = cluster::build_topology(cluster);
  data.leaf_groups = std::max(1, topology.leaf_groups);
  data.leaves_per_group = topology.leaves_per_group;
  if (run != nullptr) {
    const auto& simulation = run->simulation;
    const double step = std::max(simulation.timeline.step_time.value(), 1e-30);
    const std::vector<Shares> shares = shares_by_program(*run);
    for (std::size_t rank = 0; rank < simulation.class_of.size() && rank < data.gpus.size(); ++rank) {
      const std::uint32_t c = simulation.class_of[rank];
      const std::uint32_t p = simulation.workload.ranks.at(c).program.value;
      GpuUse& gpu = data.gpus[rank];
      gpu.compute = simulation.timeline.ranks.at(c).compute.value() / step;
      gpu.nvlink = shares[p].nvlink;
      gpu.network = shares[p].network;
      gpu.what = QStringLiteral("rank %1, %2").arg(rank).arg(QString::fromStdString(simulation.workload.programs[p].name));
      const int node = cluster.node_of(GpuId{static_cast<std::uint32_t>(rank)});
      const int nic = cluster.node.nics > 0 && cluster.nodes > 1 ? cluster::nic_of(cluster, node, cluster.local_of(GpuId{static_cast<std::uint32_t>(rank)})) : -1;
      if (nic >= 0) {
        NicUse& use = data.nics[static_cast<std::size_t>(node * cluster.node.nics + nic)];
        use.network = std::max(use.network, gpu.network);
      }
    }
  }
  for (const cluster::Fault& fault : cluster.faults) {
    const auto gpu = static_cast<std::size_t>(fault.node * cluster.node.gpus + fault.index);
    const auto nic = static_cast<std::size_t>(fault.node * cluster.node.nics + fault.index);
    if (fault.kind == cluster::FaultKind::slow_gpu && gpu < data.gpus.size()) data.gpus[gpu].speed = fault.factor;
    if (fault.kind == cluster::FaultKind::slow_nvlink && gpu < data.gpus.size()) data.gpus[gpu].nvlink_speed = fault.factor;
    if (fault.kind == cluster::FaultKind::slow_nic && nic < data.nics.size()) data.nics[nic].speed = fault.factor;
    if (fault.kind == cluster::FaultKind::failed_nic && nic < data.nics.size()) data.nics[nic].speed = 0.0;
  }
  return data;
}

}  // namespace sgsim::gui
