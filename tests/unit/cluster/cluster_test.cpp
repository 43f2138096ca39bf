#include <array>

#include "sim/cluster/builders.h"
#include "sim/cluster/placement.h"
#include "sim/cluster/topology.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::cluster;

namespace {

std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> ids) {
  std::vector<GpuId> out;
  for (std::uint32_t id : ids) out.push_back(GpuId{id});
  return out;
}

}  // namespace

TEST_CASE("every builtin cluster is sound, and an unknown name is nothing") {
  for (const std::string& name : builtin_cluster_names()) {
    CAPTURE(name);
    const auto c = builtin_cluster(name, 4);
    REQUIRE(c.has_value());
    CHECK(check_cluster(*c).empty());
    CHECK(c->gpus() == 32);
  }
  CHECK_FALSE(builtin_cluster("dgx-b300", 1).has_value());
}

TEST_CASE("a group inside one DGX A100 uses NVLink only") {
  const Cluster c = *builtin_cluster("dgx-a100-80gb", 2);
  const GroupShape s = group_shape(c, gpus({0, 1, 2, 3, 4, 5, 6, 7}), 1.0);
  CHECK(s.nodes == 1);
  CHECK(s.ranks_per_node == 8);
  CHECK(s.nics_per_node == 0.0);
  CHECK(s.nvlink_bandwidth.value() == Approx(300e9));
}

TEST_CASE("NICs of a group: one of its own beside seven sibling groups, all eight when it has the whole node") {
  const Cluster c = *builtin_cluster("dgx-a100-80gb", 4);
  CHECK(group_shape(c, gpus({0, 8, 16, 24}), 8.0).nics_per_node == Approx(1.0));
  // Alone, one GPU a node still reaches only its own NIC.
  CHECK(group_shape(c, gpus({0, 8, 16, 24}), 1.0).nics_per_node == Approx(1.0));
  std::vector<GpuId> all;
  for (std::uint32_t g = 0; g < 32; ++g) all.push_back(GpuId{g});
  CHECK(group_shape(c, all, 1.0).nics_per_node == Approx(8.0));
}

TEST_CASE("four NICs for eight GPUs: sibling groups halve them") {
  const Cluster c = *builtin_cluster("hgx-a100-80gb-4x100g", 2);
  CHECK(group_shape(c, gpus({0, 8}), 8.0).nics_per_node == Approx(0.5));
}

// A pipeline stage on GPUs 4 to 7 sends to the next node: four GPUs on the two NICs nearest to them, half a NIC each, though
// the node has four. A group of two of those GPUs with one sibling: two NICs for the two groups. One GPU alone has one NIC.
TEST_CASE("a stage on half a node sends through half of its NICs") {
  const Cluster c = *builtin_cluster("hgx-a100-80gb-4x100g", 2);
  CHECK(group_shape(c, gpus({4, 8}), 4.0).nics_per_node == Approx(0.5));
  CHECK(group_shape(c, gpus({0, 2, 8, 10}), 2.0).nics_per_node == Approx(1.0));
  CHECK(group_shape(c, gpus({4, 8}), 1.0).nics_per_node == Approx(1.0));
}

// Four groups of two GPUs a node ({0, 4}, {1, 5}, ...) on eight NICs: two NICs each. Node 1's NIC 0 fails: GPU 0 sends through
// NIC 1, which GPU 1 uses already, so both get half of it, and their groups, whose members move the same bytes, one NIC's
// worth instead of two. The other two groups lose nothing.
TEST_CASE("a failed NIC halves its group and the one that it joins, no other") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 2);
  const auto nics = [&](std::uint32_t i) { return group_shape(c, gpus({i, i + 4, i + 8, i + 12}), 4.0).nics_per_node; };
  CHECK(nics(0) == Approx(2.0));
  c.faults = {{.kind = FaultKind::failed_nic, .node = 1, .index = 0}};
  CHECK(nics(0) == Approx(1.0));
  CHECK(nics(1) == Approx(1.0));
  CHECK(nics(2) == Approx(2.0));
  CHECK(nics(3) == Approx(2.0));
  // Alone on its nodes, a group of GPU 0 finds its new NIC idle.
  CHECK(group_shape(c, gpus({0, 8}), 1.0).nics_per_node == Approx(1.0));
  CHECK(group_shape(c, gpus({0, 8}), 8.0).nics_per_node == Approx(0.5));
}

TEST_CASE("oversubscription 4:1 leaves a group with two nodes a leaf half of its NIC bandwidth") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 8);
  c.fabric.nodes_per_leaf = 4;
  c.fabric.oversubscription = 4.0;
  CHECK(group_shape(c, gpus({0, 8, 32, 40}), 8.0).fabric_share == Approx(0.5));
  CHECK(group_shape(c, gpus({0, 8, 16}), 8.0).fabric_share == Approx(1.0));  // one leaf
}

TEST_CASE("faults: a slow NIC slows its group, a failed one moves its GPU to the neighbour") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 2);
  c.faults = {{.kind = FaultKind::slow_nic, .node = 1, .index = 3, .factor = 0.25}};
  CHECK(group_shape(c, gpus({3, 11}), 8.0).nic_bandwidth.value() == Approx(25e9 * 0.25));
  CHECK(group_shape(c, gpus({2, 10}), 8.0).nic_bandwidth.value() == Approx(25e9));
  c.faults = {{.kind = FaultKind::failed_nic, .node = 0, .index = 0}};
  CHECK(nic_of(c, 0, 0) == 1);
  CHECK(group_shape(c, gpus({0, 8}), 8.0).nics_per_node == Approx(0.5));  // shared with GPU 1's
}

TEST_CASE("NVLink latency: what a node has beyond the measured machines'") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 1);
  CHECK(group_shape(c, gpus({0, 1}), 1.0).nvlink_latency_added == Seconds{});
  c.node.nvlink.latency = 2.5_us;
  CHECK(group_shape(c, gpus({0, 1}), 1.0).nvlink_latency_added.value() == Approx(2e-6));
  c.node.intra = IntraNode::pcie;
  CHECK(group_shape(c, gpus({0, 1}), 1.0).nvlink_latency_added == Seconds{});
}

TEST_CASE("NVLink pairs: 2i and 2i+1 are joined, others go over PCIe") {
  const Cluster c = *builtin_cluster("pcie-a100-80gb-nvlink-pairs", 1);
  CHECK(group_shape(c, gpus({2, 3}), 1.0).intra == IntraNode::nvlink_pairs);
  CHECK(group_shape(c, gpus({1, 2}), 1.0).intra == IntraNode::pcie);
}

TEST_CASE("routes: two links on one leaf, four across leaves, on the destination's rail") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 8);
  c.fabric.nodes_per_leaf = 4;
  const Topology t = build_topology(c);
  CHECK(t.links.size() == 8 * 8 * 2 + 2 * 8 * 2);
  const auto near = route(c, t, GpuId{1}, GpuId{8 + 5});
  REQUIRE(near.size() == 2);
  CHECK(t.links[near[0].value].name == "node0.nic5.up");
  CHECK(t.links[near[1].value].name == "node1.nic5.down");
  const auto far = route(c, t, GpuId{1}, GpuId{4 * 8 + 5});
  REQUIRE(far.size() == 4);
  CHECK(t.links[far[1].value].name == "leaf0.rail5.up");
  CHECK(t.links[far[2].value].name == "leaf1.rail5.down");
  // A trunk carries its four nodes' ports at full speed when not oversubscribed.
  CHECK(t.links[far[1].value].spec.bandwidth.value() == Approx(4 * 25e9));
}

TEST_CASE("check_cluster names the field, the value and what is expected") {
  Cluster c = *builtin_cluster("dgx-a100-80gb", 2);
  c.node.gpus = 0;
  c.faults = {{.kind = FaultKind::slow_gpu, .node = 5, .index = 0, .factor = 1.5}};
  const auto problems = check_cluster(c);
  REQUIRE(problems.size() >= 3);
  CHECK(problems[0] == "node.gpus is 0; expected at least 1");
}
