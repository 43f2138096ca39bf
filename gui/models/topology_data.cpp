#include "gui/models/topology_data.h"

#include <algorithm>

#include "gui/models/cells.h"
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

LinkShare share_of(const engine::LinkUse& use) { return {.bytes = use.bytes.value(), .bandwidth = use.bandwidth.value(), .share = use.share}; }

void take_links(TopologyData& data, const engine::LinkTraffic& traffic, Seconds step) {
  const std::vector<engine::LinkUse> uses = engine::link_uses(traffic, data.cluster, step);
  std::size_t at = 0;
  const bool nvlink = data.cluster.node.intra != cluster::IntraNode::pcie;
  for (GpuUse& gpu : data.gpus) {
    if (nvlink) gpu.nvlink = share_of(uses.at(at++));
    gpu.pcie = share_of(uses.at(at++));
    if (!nvlink) gpu.nvlink = gpu.pcie;
  }
  if (traffic.fabric.empty()) return;
  for (PortUse& nic : data.nics) {
    nic.up = share_of(uses.at(at++));
    nic.down = share_of(uses.at(at++));
  }
  const auto join = [](LinkShare& all, const engine::LinkUse& one) {
    all.bytes += one.bytes.value();
    all.bandwidth += one.bandwidth.value();
    all.share = std::max(all.share, one.share);
  };
  for (PortUse& leaf : data.leaves) {
    for (int rail = 0; rail < data.leaves_per_group; ++rail) {
      join(leaf.up, uses.at(at++));
      join(leaf.down, uses.at(at++));
    }
  }
}

}  // namespace

QString TopologyData::busiest() const {
  double most = 0.0;
  QString name;
  const auto see = [&](double share, const QString& what) {
    if (share > most) most = share, name = what;
  };
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const auto node = static_cast<int>(g) / cluster.node.gpus, index = static_cast<int>(g) % cluster.node.gpus;
    if (cluster.node.intra != cluster::IntraNode::pcie) see(gpus[g].nvlink.share, QObject::tr("NVLink of GPU %1 of node %2").arg(index).arg(node));
    see(gpus[g].pcie.share, QObject::tr("PCIe of GPU %1 of node %2").arg(index).arg(node));
  }
  for (std::size_t n = 0; n < nics.size(); ++n) see(nics[n].share(), QObject::tr("port %1 of node %2").arg(static_cast<int>(n) % cluster.node.nics).arg(static_cast<int>(n) / cluster.node.nics));
  for (std::size_t l = 0; l < leaves.size(); ++l) see(leaves[l].share(), QObject::tr("up-links of leaf group %1").arg(l));
  return name.isEmpty() ? QString() : QObject::tr("%1: %2").arg(name, percentText(most));
}

TopologyData topology_of(const cluster::Cluster& cluster, const scenario::Run* run, const engine::LinkTraffic* traffic) {
  TopologyData data{.cluster = cluster, .simulated = run != nullptr, .gpus = std::vector<GpuUse>(static_cast<std::size_t>(cluster.gpus())),
                    .nics = std::vector<PortUse>(static_cast<std::size_t>(cluster.nodes) * static_cast<std::size_t>(std::max(0, cluster.node.nics)))};
  const cluster::Topology topology = cluster::build_topology(cluster);
  data.leaf_groups = std::max(1, topology.leaf_groups);
  data.leaves_per_group = topology.leaves_per_group;
  data.leaves.resize(static_cast<std::size_t>(data.leaf_groups));
  if (run != nullptr) {
    const auto& simulation = run->simulation;
    const double step = std::max(simulation.timeline.step_time.value(), 1e-30);
    const std::vector<Shares> shares = shares_by_program(*run);
    for (std::size_t rank = 0; rank < simulation.class_of.size() && rank < data.gpus.size(); ++rank) {
      const std::uint32_t c = simulation.class_of[rank];
      const std::uint32_t p = simulation.workload.ranks.at(c).program.value;
      GpuUse& gpu = data.gpus[rank];
      gpu.compute = simulation.timeline.ranks.at(c).compute.value() / step;
      gpu.inside_time = shares[p].nvlink;
      gpu.outside_time = shares[p].network;
      gpu.what = QStringLiteral("rank %1, %2").arg(rank).arg(QString::fromStdString(simulation.workload.programs[p].name));
    }
    if (traffic != nullptr) take_links(data, *traffic, simulation.timeline.step_time);
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
