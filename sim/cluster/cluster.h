#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/quantity.h"

namespace sgsim::cluster {

/// A GPU by its datasheet (dense rates, no sparsity). `profile` names the default profile file.
struct Gpu {
  std::string name;      // "A100-SXM4-80GB"
  std::string profile;   // "a100-80gb"
  Bytes memory;          // total device memory as the driver reports it
  auto operator<=>(const Gpu&) const = default;
};

/// One direction of a link.
struct LinkSpec {
  BytesPerSecond bandwidth;  // raw, per direction
  Seconds latency;           // one hop
  auto operator<=>(const LinkSpec&) const = default;
};

/// One NVLink hop (through NVSwitch) of the builtin clusters and of the machines that profiles were measured on: their times
/// of a collective's hop hold it.
inline constexpr Seconds kUsualNvlinkLatency = 0.5_us;

enum class IntraNode : std::uint8_t { nvswitch, nvlink_pairs, nvlink_mesh, pcie };

/// One server.
struct Node {
  std::string name;       // "DGX A100 80GB"
  Gpu gpu;
  int gpus = 8;
  IntraNode intra = IntraNode::nvswitch;
  LinkSpec nvlink;        // one GPU's aggregate to the switch (or to its peer), per direction; zero for pcie
  LinkSpec pcie;          // GPU to host, per direction
  int nics = 8;           // RDMA ports for the compute fabric
  LinkSpec nic;           // one port, per direction
  auto operator<=>(const Node&) const = default;
};

enum class FabricKind : std::uint8_t { none, rail_optimized, fat_tree };

/// The compute network between nodes.
struct Fabric {
  FabricKind kind = FabricKind::rail_optimized;
  int nodes_per_leaf = 32;          // nodes under one leaf switch (a rail leaf when rail_optimized)
  double oversubscription = 1.0;    // leaf down-link over up-link bandwidth, >= 1
  Seconds switch_latency;           // one switch hop
  auto operator<=>(const Fabric&) const = default;
};

/// A what-if: something slower than its specification, or gone.
enum class FaultKind : std::uint8_t { slow_gpu, slow_nic, failed_nic, slow_nvlink };
struct Fault {
  FaultKind kind = FaultKind::slow_gpu;
  int node = 0;
  int index = 0;         // GPU or NIC of that node
  double factor = 1.0;   // remaining speed, in (0, 1]; ignored for failed_nic
  auto operator<=>(const Fault&) const = default;
};

/// Any number of equal nodes on one fabric. GPU g is local GPU g % node.gpus of node g / node.gpus.
struct Cluster {
  std::string name;
  int nodes = 1;
  Node node;
  Fabric fabric;
  std::vector<Fault> faults;

  [[nodiscard]] int gpus() const { return nodes * node.gpus; }
  [[nodiscard]] int node_of(GpuId gpu) const { return static_cast<int>(gpu.value) / node.gpus; }
  [[nodiscard]] int local_of(GpuId gpu) const { return static_cast<int>(gpu.value) % node.gpus; }
  auto operator<=>(const Cluster&) const = default;
};

}  // namespace sgsim::cluster
