// Bytes on links, worked out by hand.
#include "sim/engine/traffic/link_traffic.h"

#include "tests/unit/engine/run_engine.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

/// All ranks run one program: `times` collectives over one group.
lower::Workload one_group(std::uint32_t ranks, const std::string& algorithm, graph::CollectiveOp op, double payload, double wire, bool inter_node, int times) {
  lower::Workload w;
  ProgramBuilder b("step");
  const auto stream = b.stream("dp");
  const auto comm = b.comm(0, "exchange", 0.0, wire, 10.0, inter_node, op);
  b.program().comms[comm].payload = Bytes(payload);
  b.program().comms[comm].transfer.algorithm = algorithm;
  for (int i = 0; i < times; ++i) b.collective(stream, comm);
  w.programs.push_back(b.program());
  std::vector<std::uint32_t> members;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    add_rank(w, 0);
    members.push_back(r);
  }
  add_group(w, "dp", members);
  return w;
}

}  // namespace

// 4 GPUs on one node, two all-reduces of 100 bytes round a ring: 2 x 2 x 3/4 x 100 = 300 sent by each; through the switch's
// multicast 2 x 100 (1 + 1/4) = 250.
TEST_CASE("bytes inside a node") {
  const cluster::Cluster c = slow_cluster(1, 4);
  const auto ring = engine::link_traffic(one_group(4, "ring", graph::CollectiveOp::all_reduce, 100.0, 150.0, false, 2), c);
  for (const Bytes b : ring.inside) CHECK(b.value() == Approx(300.0));
  for (const Bytes b : ring.outside) CHECK(b.value() == 0.0);
  CHECK(ring.fabric.empty());
  const auto nvls = engine::link_traffic(one_group(4, "nvls", graph::CollectiveOp::all_reduce, 100.0, 125.0, false, 2), c);
  for (const Bytes b : nvls.inside) CHECK(b.value() == Approx(250.0));
}

// 2 nodes of 2 GPUs and one port each; an all-gather of 100 bytes: 3/4 x 100 = 75 leave every GPU inside its node, and 75 every node:
// 37.5 for each of its GPUs (what the cost model has as wire bytes). The port carries both GPUs': 75 up and 75 down.
TEST_CASE("bytes between nodes go over the ports") {
  const cluster::Cluster c = slow_cluster(2, 2);
  const auto t = engine::link_traffic(one_group(4, "ring", graph::CollectiveOp::all_gather, 100.0, 37.5, true, 1), c);
  for (const Bytes b : t.inside) CHECK(b.value() == Approx(75.0));
  for (const Bytes b : t.outside) CHECK(b.value() == Approx(37.5));
  REQUIRE(t.fabric.size() == 2 * 2 + 2);
  for (std::size_t link = 0; link < 4; ++link) CHECK(t.fabric[link].value() == Approx(75.0));
  CHECK(t.fabric[4].value() == 0.0);  // one leaf: nothing goes up
}

// GPU 0 sends 20 bytes to GPU 2, which is under another leaf: port up, trunk up, trunk down, port down. Nothing comes back.
TEST_CASE("a message has one direction") {
  cluster::Cluster c = slow_cluster(4);
  c.fabric.nodes_per_leaf = 2;
  lower::Workload w;
  std::vector<ProgramBuilder> programs;
  for (std::uint32_t r = 0; r < 4; ++r) {
    add_rank(w, r);
    programs.emplace_back("p");
    const auto stream = programs.back().stream("message");
    if (r % 2 == 1) continue;
    const auto comm = programs.back().comm(0, "message", 0.0, 20.0, 10.0, true, graph::CollectiveOp::send_receive);
    programs.back().communicate(r == 0 ? TaskKind::send : TaskKind::receive, stream, comm);
  }
  for (const ProgramBuilder& b : programs) w.programs.push_back(b.program());
  add_group(w, "pp", {0, 2});
  const auto t = engine::link_traffic(w, c);
  CHECK(t.inside[0].value() == 0.0);
  CHECK(t.outside[0].value() == 20.0);
  CHECK(t.outside[2].value() == 0.0);
  // Links: ports 0 up, 0 down, 1 up, ...; then trunks of leaf 0 up, down, leaf 1 up, down.
  const std::vector<double> expected = {20, 0, 0, 0, 0, 20, 0, 0, 20, 0, 0, 20};
  REQUIRE(t.fabric.size() == expected.size());
  for (std::size_t l = 0; l < expected.size(); ++l) CHECK(t.fabric[l].value() == expected[l]);
}

TEST_CASE("collectives that are part of a run are counted as often as it runs") {
  lower::Workload w = one_group(2, "ring", graph::CollectiveOp::all_reduce, 100.0, 100.0, false, 0);
  lower::Program& p = w.programs.front();
  p.segments.front().part_count = 2;
  p.parts = {{.device = {}, .issue_to_end = {}, .host = {}, .comm = lower::Part::kKernels}, {.device = {}, .issue_to_end = {}, .host = {}, .comm = 0}};
  for (int i = 0; i < 3; ++i) p.tasks.push_back({});
  const auto t = engine::link_traffic(w, slow_cluster(1, 2));
  CHECK(t.inside[0].value() == Approx(3 * 100.0));  // 2 x 1/2 x 100 each
}

// 20 bytes over a port of 10 bytes/s in a step of 4 s: half of what it could carry. A link at half its speed is used twice as much.
TEST_CASE("use of links is bytes over what they could carry") {
  cluster::Cluster c = slow_cluster(2, 2);
  c.node.nvlink.bandwidth = BytesPerSecond(10.0);
  c.node.pcie.bandwidth = BytesPerSecond(20.0);
  c.faults = {{.kind = cluster::FaultKind::slow_nvlink, .node = 1, .index = 0, .factor = 0.5}};
  engine::LinkTraffic t = engine::link_traffic(one_group(4, "ring", graph::CollectiveOp::all_gather, 100.0, 37.5, true, 0), c);
  t.inside = {Bytes(0), Bytes(0), Bytes(10), Bytes(10)};
  t.outside = {Bytes(8), Bytes(0), Bytes(0), Bytes(0)};
  t.fabric[0] = Bytes(20);
  const auto uses = engine::link_uses(t, c, Seconds(4.0));
  const auto share = [&](const std::string& name) {
    for (const auto& u : uses) {
      if (u.name == name) return u.share;
    }
    return -1.0;
  };
  CHECK(share("node1.gpu0.nvlink") == Approx(0.5));
  CHECK(share("node1.gpu1.nvlink") == Approx(0.25));
  CHECK(share("node0.gpu0.pcie") == Approx(0.1));
  CHECK(share("node0.nic0.up") == Approx(0.5));
  CHECK(uses.size() == 4 * 2 + 6);
}
