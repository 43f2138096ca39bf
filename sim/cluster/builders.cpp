#include "sim/cluster/builders.h"

#include <fmt/format.h>

#include "sim/core/units_text.h"

namespace sgsim::cluster {
namespace {

// Device memory as cudaMemGetInfo reports it (the driver keeps some): 79.15 GiB on A100-SXM4-80GB, 39.39 GiB on
// A100-SXM4-40GB, 79.11 GiB on H100-SXM5-80GB, 139.8 GiB on H200, as PyTorch prints total capacity on such GPUs.
const Gpu kA100_80{.name = "A100-SXM4-80GB", .profile = "a100-80gb", .memory = Bytes(79.15 * 1073741824.0)};
const Gpu kA100_40{.name = "A100-SXM4-40GB", .profile = "a100-40gb", .memory = Bytes(39.39 * 1073741824.0)};
const Gpu kA100_pcie{.name = "A100-PCIe-80GB", .profile = "a100-80gb", .memory = Bytes(79.15 * 1073741824.0)};
const Gpu kH100{.name = "H100-SXM5-80GB", .profile = "h100", .memory = Bytes(79.11 * 1073741824.0)};
const Gpu kH200{.name = "H200-SXM-141GB", .profile = "h200-measured", .memory = Bytes(139.8 * 1073741824.0)};

// NVLink 3: 12 links of 25 GB/s a direction (A100 datasheet: 600 GB/s both ways). NVLink 4: 18 links of 25 GB/s a
// direction (H100 datasheet: 900 GB/s both ways). One hop through NVSwitch is under a microsecond; the latency of a
// collective's hop comes from the profile, to which a cluster's own NVLink latency adds what it has beyond this one.
const LinkSpec kNvlink3{.bandwidth = 300.0_GBps, .latency = kUsualNvlinkLatency};
const LinkSpec kNvlink4{.bandwidth = 450.0_GBps, .latency = kUsualNvlinkLatency};
// PCIe x16 after 128b/130b encoding: gen 4 31.5 GB/s, gen 5 63.0 GB/s a direction.
const LinkSpec kPcie4{.bandwidth = 31.5_GBps, .latency = 1.0_us};
const LinkSpec kPcie5{.bandwidth = 63.0_GBps, .latency = 1.0_us};
// ConnectX-6 and -7 datasheets: latency about 0.6 us; 100, 200 and 400 Gbit/s ports.
const LinkSpec kPort100{.bandwidth = 12.5_GBps, .latency = 0.6_us};
const LinkSpec kPort200{.bandwidth = 25.0_GBps, .latency = 0.6_us};
const LinkSpec kPort400{.bandwidth = 50.0_GBps, .latency = 0.6_us};

// NVIDIA Quantum HDR / NDR switches: about 130 ns port to port. DGX SuperPOD: 20 (A100) and 32 (H100) nodes a leaf group.
Fabric rails(int nodes_per_leaf) {
  return {.kind = FabricKind::rail_optimized, .nodes_per_leaf = nodes_per_leaf, .oversubscription = 1.0, .switch_latency = 130.0_ns};
}
Fabric tree(int nodes_per_leaf) {
  return {.kind = FabricKind::fat_tree, .nodes_per_leaf = nodes_per_leaf, .oversubscription = 1.0, .switch_latency = 130.0_ns};
}

struct Builtin {
  std::string_view name;
  Node node;
  Fabric fabric;
};

const std::vector<Builtin>& builtins() {
  static const std::vector<Builtin> kBuiltins = {
      {"dgx-a100-80gb", {.name = "DGX A100 80GB", .gpu = kA100_80, .gpus = 8, .intra = IntraNode::nvswitch, .nvlink = kNvlink3, .pcie = kPcie4, .nics = 8, .nic = kPort200}, rails(20)},
      {"dgx-a100-40gb", {.name = "DGX A100 40GB", .gpu = kA100_40, .gpus = 8, .intra = IntraNode::nvswitch, .nvlink = kNvlink3, .pcie = kPcie4, .nics = 8, .nic = kPort200}, rails(20)},
      {"hgx-a100-80gb-4x100g", {.name = "HGX A100 80GB, 4 x 100 Gbit/s", .gpu = kA100_80, .gpus = 8, .intra = IntraNode::nvswitch, .nvlink = kNvlink3, .pcie = kPcie4, .nics = 4, .nic = kPort100}, tree(16)},
      {"dgx-h100", {.name = "DGX H100", .gpu = kH100, .gpus = 8, .intra = IntraNode::nvswitch, .nvlink = kNvlink4, .pcie = kPcie5, .nics = 8, .nic = kPort400}, rails(32)},
      {"hgx-h200", {.name = "HGX H200", .gpu = kH200, .gpus = 8, .intra = IntraNode::nvswitch, .nvlink = kNvlink4, .pcie = kPcie5, .nics = 8, .nic = kPort400}, rails(32)},
      {"pcie-a100-80gb", {.name = "8 x A100 PCIe 80GB", .gpu = kA100_pcie, .gpus = 8, .intra = IntraNode::pcie, .nvlink = {}, .pcie = kPcie4, .nics = 2, .nic = kPort100}, tree(16)},
      {"pcie-a100-80gb-nvlink-pairs", {.name = "8 x A100 PCIe 80GB, NVLink pairs", .gpu = kA100_pcie, .gpus = 8, .intra = IntraNode::nvlink_pairs, .nvlink = kNvlink3, .pcie = kPcie4, .nics = 2, .nic = kPort100}, tree(16)},
  };
  return kBuiltins;
}

void check_faults(const Cluster& cluster, std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < cluster.faults.size(); ++i) {
    const Fault& fault = cluster.faults[i];
    const std::string at = fmt::format("faults[{}]", i);
    if (fault.node < 0 || fault.node >= cluster.nodes) {
      problems.push_back(fmt::format("{}.node is {}; expected 0 to {}", at, fault.node, cluster.nodes - 1));
    }
    const bool nic = fault.kind == FaultKind::slow_nic || fault.kind == FaultKind::failed_nic;
    const int limit = nic ? cluster.node.nics : cluster.node.gpus;
    if (fault.index < 0 || fault.index >= limit) {
      problems.push_back(fmt::format("{}.index is {}; expected 0 to {} ({} of a node)", at, fault.index, limit - 1, nic ? "NICs" : "GPUs"));
    }
    if (fault.kind != FaultKind::failed_nic && !(fault.factor > 0.0 && fault.factor <= 1.0)) {
      problems.push_back(fmt::format("{}.factor is {}; expected the remaining speed, above 0 and at most 1", at, fault.factor));
    }
  }
}

}  // namespace

std::vector<std::string> builtin_cluster_names() {
  std::vector<std::string> names;
  for (const Builtin& b : builtins()) names.emplace_back(b.name);
  return names;
}

std::optional<Cluster> builtin_cluster(std::string_view name, int nodes) {
  for (const Builtin& b : builtins()) {
    if (b.name == name) return Cluster{.name = std::string(name), .nodes = nodes, .node = b.node, .fabric = b.fabric, .faults = {}};
  }
  return std::nullopt;
}

std::vector<std::string> check_cluster(const Cluster& cluster) {
  std::vector<std::string> problems;
  const auto at_least = [&](const char* what, auto value, auto least) {
    if (value < least) problems.push_back(fmt::format("{} is {}; expected at least {}", what, value, least));
  };
  at_least("nodes", cluster.nodes, 1);
  at_least("node.gpus", cluster.node.gpus, 1);
  at_least("fabric.nodes_per_leaf", cluster.fabric.nodes_per_leaf, 1);
  at_least("fabric.oversubscription", cluster.fabric.oversubscription, 1.0);
  if (cluster.nodes > 1 && cluster.fabric.kind == FabricKind::none) {
    problems.push_back(fmt::format("fabric.kind is none with {} nodes; expected rail_optimized or fat_tree", cluster.nodes));
  }
  if (cluster.nodes > 1) {
    at_least("node.nics", cluster.node.nics, 1);
    if (cluster.node.nic.bandwidth.value() <= 0.0) problems.emplace_back("node.nic.bandwidth is zero; expected the speed of one port, such as \"200 Gbit/s\"");
  }
  if (cluster.node.intra != IntraNode::pcie && cluster.node.gpus > 1 && cluster.node.nvlink.bandwidth.value() <= 0.0) {
    problems.emplace_back("node.nvlink.bandwidth is zero; expected one GPU's aggregate, such as \"300 GB/s\", or intra = pcie");
  }
  if (cluster.node.gpus > 1 && cluster.node.pcie.bandwidth.value() <= 0.0) problems.emplace_back("node.pcie.bandwidth is zero; expected such as \"31.5 GB/s\"");
  if (cluster.node.gpu.memory.value() <= 0.0) problems.emplace_back("node.gpu.memory is zero; expected such as \"79.15 GiB\"");
  check_faults(cluster, problems);
  return problems;
}

}  // namespace sgsim::cluster
