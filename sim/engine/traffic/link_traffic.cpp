#include "sim/engine/traffic/link_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "sim/engine/simgrid/flow_paths.h"

namespace sgsim::engine {
namespace {

using graph::CollectiveOp;
using lower::TaskKind;

/// Alike operations of one program in one step.
struct Use {
  double payload = 0.0, wire = 0.0;  // bytes, summed over the operations
  bool inter_node = false;
};
struct Key {
  std::uint16_t slot = 0;
  CollectiveOp op = CollectiveOp::all_reduce;
  TaskKind kind = TaskKind::collective;
  std::string algorithm;
  auto operator<=>(const Key&) const = default;
};
using Uses = std::map<Key, Use>;

Uses uses_of(const lower::Program& program) {
  Uses uses;
  const auto add = [&](const lower::Comm& comm, TaskKind kind, double times) {
    Use& use = uses[{.slot = comm.slot, .op = comm.op, .kind = kind, .algorithm = comm.transfer.algorithm}];
    use.payload += comm.payload.value() * times;
    use.wire += comm.transfer.wire_bytes.value() * times;
    use.inter_node = use.inter_node || comm.transfer.inter_node;
  };
  std::vector<double> runs(program.segments.size(), 0.0);
  for (const lower::Task& task : program.tasks) {
    if (task.kind == TaskKind::collective || task.kind == TaskKind::send) add(program.comms[task.comm], task.kind, 1.0);
    if (task.kind == TaskKind::compute) runs[task.segment] += 1.0;
  }
  for (std::size_t s = 0; s < runs.size(); ++s) {
    const lower::Segment& segment = program.segments[s];
    for (std::uint32_t p = segment.first_part; p < segment.first_part + segment.part_count; ++p) {
      if (program.parts[p].is_collective() && runs[s] > 0.0) add(program.comms[program.parts[p].comm], TaskKind::collective, runs[s]);
    }
  }
  return uses;
}

/// Bytes that one member sends inside its node.
double sent_inside(const Key& key, double payload, double n, double r) {
  if (r < 2.0) return 0.0;
  if (key.op == CollectiveOp::all_to_all) return payload * (r - 1.0) / n;
  if (key.op == CollectiveOp::send_receive) return payload;
  if (key.algorithm == "tree") return payload;
  if (key.algorithm == "nvls") return payload * (1.0 + 1.0 / r);
  if (key.op == CollectiveOp::broadcast) return payload;
  return payload * (key.op == CollectiveOp::all_reduce ? 2.0 : 1.0) * (n - 1.0) / n;
}

Pattern pattern_of(const Key& key, bool first_sends) {
  if (key.kind == TaskKind::send) return first_sends ? Pattern::forward : Pattern::backward;
  return key.op == CollectiveOp::all_to_all ? Pattern::pairwise : key.op == CollectiveOp::broadcast ? Pattern::chain : Pattern::ring;
}

class Counting {
 public:
  Counting(const lower::Workload& workload, const cluster::Cluster& cluster) : workload_(workload), cluster_(cluster) {
    for (const lower::Program& program : workload.programs) uses_.push_back(uses_of(program));
    const auto gpus = static_cast<std::size_t>(cluster.gpus());
    out_ = {.inside = std::vector<Bytes>(gpus), .outside = std::vector<Bytes>(gpus), .fabric = {}};
    if (cluster.nodes < 2 || cluster.fabric.kind == cluster::FabricKind::none) return;
    topology_ = cluster::build_topology(cluster);
    out_.fabric.resize(topology_.links.size());
  }

  LinkTraffic run() {
    for (std::uint32_t g = 0; g < workload_.groups.size(); ++g) group(g);
    return std::move(out_);
  }

 private:
  void group(std::uint32_t g) {
    const auto& members = workload_.groups[g].members;
    gpus_.clear();
    std::map<int, int> on_node;
    for (const RankId member : members) {
      gpus_.push_back(workload_.ranks[member.value].gpu);
      ++on_node[cluster_.node_of(gpus_.back())];
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      const lower::RankBinding& binding = workload_.ranks[members[m].value];
      for (const auto& [key, use] : uses_[binding.program.value]) {
        if (binding.groups[key.slot].value != g) continue;
        const double together = on_node[cluster_.node_of(gpus_[m])];
        // A send inside a node is one member's; a collective is everyone's.
        out_.inside[gpus_[m].value] += Bytes(sent_inside(key, use.payload, static_cast<double>(members.size()), together));
        if (use.inter_node && (key.kind == TaskKind::send || m == 0)) across(key, use, m == 0);
      }
    }
  }

  void across(const Key& key, const Use& use, bool first_sends) {
    if (out_.fabric.empty()) return;
    for (const FlowPath& path : flow_paths(cluster_, gpus_, pattern_of(key, first_sends))) {
      const Bytes bytes(use.wire * path.share);
      out_.outside[path.from.value] += bytes;
      for (const LinkId link : cluster::route(cluster_, topology_, path.from, path.to)) out_.fabric[link.value] += bytes;
    }
  }

  const lower::Workload& workload_;
  const cluster::Cluster& cluster_;
  cluster::Topology topology_;
  std::vector<Uses> uses_;
  std::vector<GpuId> gpus_;
  LinkTraffic out_;
};

}  // namespace

LinkTraffic link_traffic(const lower::Workload& workload, const cluster::Cluster& cluster) { return Counting(workload, cluster).run(); }

std::vector<LinkUse> link_uses(const LinkTraffic& traffic, const cluster::Cluster& cluster, Seconds step) {
  std::vector<LinkUse> uses;
  const auto add = [&](std::string name, Bytes bytes, BytesPerSecond bandwidth) {
    const double could = bandwidth.value() * step.value();
    uses.push_back({.name = std::move(name), .bytes = bytes, .bandwidth = bandwidth, .share = could > 0.0 ? bytes.value() / could : 0.0});
  };
  const bool pcie_only = cluster.node.intra == cluster::IntraNode::pcie;
  for (std::uint32_t g = 0; g < traffic.inside.size(); ++g) {
    const int node = cluster.node_of(GpuId{g}), local = cluster.local_of(GpuId{g});
    double speed = 1.0;
    for (const cluster::Fault& fault : cluster.faults) {
      if (fault.kind == cluster::FaultKind::slow_nvlink && fault.node == node && fault.index == local) speed *= fault.factor;
    }
    const std::string name = fmt::format("node{}.gpu{}", node, local);
    if (!pcie_only) add(name + ".nvlink", traffic.inside[g], cluster.node.nvlink.bandwidth * speed);
    add(name + ".pcie", traffic.outside[g] + (pcie_only ? traffic.inside[g] : Bytes()), cluster.node.pcie.bandwidth);
  }
  if (traffic.fabric.empty()) return uses;
  const cluster::Topology topology = cluster::build_topology(cluster);
  for (std::size_t l = 0; l < traffic.fabric.size(); ++l) add(topology.links[l].name, traffic.fabric[l], topology.links[l].spec.bandwidth);
  return uses;
}

}  // namespace sgsim::engine
