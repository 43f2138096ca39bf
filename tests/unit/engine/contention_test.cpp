// What only the simgrid engine sees: flows that share links. NICs carry 10 bytes/s, so that hand-worked times are whole.
#include "tests/unit/engine/run_engine.h"

#include "sim/core/error.h"
#include "sim/engine/simgrid/flow_paths.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

struct Message {
  std::uint32_t from = 0, to = 0;  // ranks = GPUs
  double bytes = 0.0, cap = 10.0, after = 0.0;
};

/// One message a pair of ranks; each rank in at most one message a direction.
lower::Workload messages(std::uint32_t ranks, const std::vector<Message>& all) {
  lower::Workload w;
  std::vector<ProgramBuilder> programs;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    add_rank(w, r);
    programs.emplace_back("program of " + std::to_string(r));
    programs.back().stream("compute");
  }
  for (const Message& m : all) {
    for (const std::uint32_t r : {m.from, m.to}) {
      ProgramBuilder& b = programs[r];
      const auto slot = static_cast<std::uint16_t>(w.ranks[r].groups.size());
      const auto stream = b.stream("message");
      const auto comm = b.comm(slot, "message", 0.0, m.bytes, m.cap, true, graph::CollectiveOp::send_receive);
      if (r == m.from) b.compute(stream, m.after);
      b.communicate(r == m.from ? TaskKind::send : TaskKind::receive, stream, comm);
    }
    add_group(w, "message", {m.from, m.to});
  }
  for (const ProgramBuilder& b : programs) w.programs.push_back(b.program());
  return w;
}

double end_of(const timeline::Timeline& t, std::uint32_t rank) { return t.ranks[rank].end.value(); }

/// `nodes` of one GPU and one NIC under leaves of two nodes.
cluster::Cluster leaves_of_two(int nodes, double oversubscription) {
  cluster::Cluster c = slow_cluster(nodes);
  c.fabric.nodes_per_leaf = 2;
  c.fabric.oversubscription = oversubscription;
  return c;
}

}  // namespace

// GPUs 0, 1 on node 0 send 20 bytes each to GPUs 2, 3 on node 1, at most 10 bytes/s each, through one NIC of 10: 5 each
// while both run. Together from 0: both end at 4. The second from 1: the first has 10 left then, which take 2 at 5: ends
// at 3; the second has 10 left then, alone: ends at 4. The fast engine, which knows no shares, says 2 and 3.
TEST_CASE("two flows on one link share it") {
  const cluster::Cluster c = slow_cluster(2, 2);
  const auto together = run_engine("simgrid", messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0}}), c);
  CHECK(end_of(together, 0) == Approx(4.0).epsilon(1e-9));
  CHECK(end_of(together, 1) == Approx(4.0).epsilon(1e-9));
  const auto w = messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0, .after = 1.0}});
  const auto staggered = run_engine("simgrid", w, c);
  CHECK(end_of(staggered, 0) == Approx(3.0).epsilon(1e-9));
  CHECK(end_of(staggered, 1) == Approx(4.0).epsilon(1e-9));
  CHECK(run_engine("fast", w, c).step_time.value() == Approx(3.0));
}

// 4 + 4 bytes/s fit through 10.
TEST_CASE("flows whose caps fit do not slow each other") {
  const auto t = run_engine("simgrid", messages(4, {{.from = 0, .to = 2, .bytes = 20.0, .cap = 4.0}, {.from = 1, .to = 3, .bytes = 20.0, .cap = 4.0}}), slow_cluster(2, 2));
  CHECK(end_of(t, 0) == Approx(5.0).epsilon(1e-9));
  CHECK(end_of(t, 1) == Approx(5.0).epsilon(1e-9));
}

// Node 0 sends to 1 and 2; nodes 3 and 4 send to 2. Into node 2 go three flows: 10/3 each. What that leaves of node 0's
// NIC, 20/3, is the first flow's. 20 bytes at 20/3: 3; 10 bytes at 10/3: 3.
TEST_CASE("sharing is max-min fair") {
  cluster::Cluster c = slow_cluster(5, 3);
  const auto t = run_engine("simgrid", messages(15, {{.from = 0, .to = 3, .bytes = 20.0}, {.from = 1, .to = 6, .bytes = 10.0}, {.from = 9, .to = 7, .bytes = 10.0}, {.from = 12, .to = 8, .bytes = 10.0}}), c);
  for (const std::uint32_t rank : {0u, 1u, 9u, 12u}) CHECK(end_of(t, rank) == Approx(3.0).epsilon(1e-9));
}

// Two leaves of two nodes. Up-link of a leaf: 2 * 10 / 2 = 10 bytes/s. Both nodes of the first leaf send 20 bytes to the
// second leaf: 5 each, 4 instead of 2. One alone: 2. Within a leaf: 2.
TEST_CASE("an up-link oversubscribed 2:1 doubles the time when all use it") {
  const cluster::Cluster c = leaves_of_two(4, 2.0);
  const auto both = run_engine("simgrid", messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0}}), c);
  CHECK(both.step_time.value() == Approx(4.0).epsilon(1e-9));
  CHECK(run_engine("simgrid", messages(4, {{.from = 0, .to = 2, .bytes = 20.0}}), c).step_time.value() == Approx(2.0).epsilon(1e-9));
  const auto inside = messages(4, {{.from = 0, .to = 1, .bytes = 20.0}, {.from = 1, .to = 0, .bytes = 20.0}});
  CHECK(run_engine("simgrid", inside, c).step_time.value() == Approx(2.0).epsilon(1e-9));
  CHECK(run_engine("simgrid", messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0}}), leaves_of_two(4, 1.0)).step_time.value() == Approx(2.0).epsilon(1e-9));
}

// Rails: NIC r of both leaves' nodes meets in its own leaf, so two flows on different rails have an up-link each (2 nodes
// * 1 NIC * 10 / 2 = 10), on the same rail they share it.
TEST_CASE("rails have up-links of their own") {
  cluster::Cluster c = leaves_of_two(4, 2.0);
  c.node.gpus = c.node.nics = 2;
  c.fabric.kind = cluster::FabricKind::rail_optimized;
  const auto two_rails = messages(8, {{.from = 0, .to = 4, .bytes = 20.0}, {.from = 1, .to = 5, .bytes = 20.0}});
  CHECK(run_engine("simgrid", two_rails, c).step_time.value() == Approx(2.0).epsilon(1e-9));
  const auto one_rail = messages(8, {{.from = 0, .to = 4, .bytes = 20.0}, {.from = 2, .to = 6, .bytes = 20.0}});
  CHECK(run_engine("simgrid", one_rail, c).step_time.value() == Approx(4.0).epsilon(1e-9));
}

// A NIC at half speed carries 5 bytes/s: 20 bytes take 4. A failed NIC's traffic joins the node's other NIC.
TEST_CASE("a slow NIC halves, a failed NIC moves the traffic to its neighbour") {
  cluster::Cluster slow = slow_cluster(2);
  slow.faults.push_back({.kind = cluster::FaultKind::slow_nic, .node = 1, .index = 0, .factor = 0.5});
  CHECK(run_engine("simgrid", messages(2, {{.from = 0, .to = 1, .bytes = 20.0}}), slow).step_time.value() == Approx(4.0).epsilon(1e-9));
  cluster::Cluster failed = slow_cluster(2, 2);
  failed.node.nics = 2;
  const auto w = messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0}});
  CHECK(run_engine("simgrid", w, failed).step_time.value() == Approx(2.0).epsilon(1e-9));
  failed.faults.push_back({.kind = cluster::FaultKind::failed_nic, .node = 0, .index = 0});
  CHECK(run_engine("simgrid", w, failed).step_time.value() == Approx(4.0).epsilon(1e-9));
}

// Two all-reduces over 2 nodes, each with a GPU on both: rings 0 -> 1 -> 0 of 20 bytes a rank after 1 of latency. Sharing
// the NICs both ways: 1 + 4. With one NIC a GPU: 1 + 2.
TEST_CASE("collectives that share NICs slow each other, their latency does not") {
  ProgramBuilder b("p");
  const auto s = b.stream("comm");
  b.collective(s, b.comm(0, "all_reduce dp", 1.0, 20.0, 10.0, true));
  lower::Workload w;
  w.programs.push_back(b.program());
  for (int r = 0; r < 4; ++r) add_rank(w, 0);
  add_group(w, "dp", {0, 2});
  add_group(w, "dp", {1, 3});
  cluster::Cluster c = slow_cluster(2, 2);
  CHECK(run_engine("simgrid", w, c).step_time.value() == Approx(5.0).epsilon(1e-9));
  c.node.nics = 2;
  CHECK(run_engine("simgrid", w, c).step_time.value() == Approx(3.0).epsilon(1e-9));
}

// A flow slowed below its cap by a shared link is not slowed further by computation that would only lower its cap to 8:
// 20 bytes at 5 beside 4 of computation: both end at 4.
TEST_CASE("computation slows a transfer's own rate, not what a shared link leaves of it") {
  lower::Workload w = messages(4, {{.from = 0, .to = 2, .bytes = 20.0}, {.from = 1, .to = 3, .bytes = 20.0}});
  w.programs[0].transfer_slowdown = 1.25;
  w.programs[0].tasks[0].device = w.programs[0].tasks[0].issue_to_end = Seconds(0.0);
  lower::Task busy;
  busy.device = busy.issue_to_end = Seconds(4.0);
  w.programs[0].tasks.push_back(busy);
  const auto t = run_engine("simgrid", w, slow_cluster(2, 2));
  CHECK(t.step_time.value() == Approx(4.0).epsilon(1e-9));
  CHECK(run_engine("simgrid", w, slow_cluster(2, 2)).step_time == t.step_time);  // twice in a process
}

TEST_CASE("the network model's options are the ones reported") {
  const auto t = run_engine("simgrid", messages(2, {{.from = 0, .to = 1, .bytes = 20.0}}), slow_cluster(2));
  const std::vector<std::string> expected = {
      "SimGrid 3.32", "network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1", "network/crosstraffic:0", "network/weight-S:0",
      "network/TCP-gamma:1e20", "network/optim:Lazy", "network/loopback-lat:0", "surf/precision:1e-12", "maxmin/precision:1e-9", "maxmin/concurrency-limit:-1",
      "platform latency: 0 (an operation's latency passes before its flows start)"};
  CHECK(t.engine_settings == expected);
  CHECK(t.engine == "simgrid");
}

TEST_CASE("where nothing crosses the fabric no network is made") {
  ProgramBuilder b("p");
  b.compute(b.stream("compute"), 1.0);
  lower::Workload w;
  w.programs.push_back(b.program());
  add_rank(w, 0);
  const auto t = run_engine("simgrid", w, slow_cluster(1));
  CHECK(t.engine_settings == std::vector<std::string>{"no transfer crosses the fabric: no link is shared"});
}

TEST_CASE("a folded workload cannot share links") {
  ProgramBuilder b("p");
  const auto s = b.stream("comm");
  b.collective(s, b.comm(0, "all_reduce dp", 1.0, 20.0, 10.0, true));
  lower::Workload w;
  w.programs.push_back(b.program());
  add_rank(w, 0);
  add_rank(w, 0);
  add_group(w, "dp", {0, 1});
  CHECK_THROWS_AS(engine::run_simgrid(engine::fold(w), slow_cluster(2), {}), InternalError);
}

TEST_CASE("transfers between nodes without a fabric, and ranks outside the cluster, are refused") {
  const auto w = messages(2, {{.from = 0, .to = 1, .bytes = 20.0}});
  cluster::Cluster none = slow_cluster(2);
  none.fabric.kind = cluster::FabricKind::none;
  CHECK_THROWS_AS(run_engine("simgrid", w, none), InputError);
  CHECK_THROWS_AS(run_engine("simgrid", w, slow_cluster(1)), InputError);
}

TEST_CASE("flows of a ring, a chain and pairs") {
  const cluster::Cluster c = slow_cluster(3, 2);
  const auto gpus = [](std::vector<std::uint32_t> ids) {
    std::vector<GpuId> result;
    for (const std::uint32_t id : ids) result.push_back(GpuId{id});
    return result;
  };
  using engine::FlowPath;
  using engine::Pattern;
  // One GPU a node: 0 -> 2 -> 4 -> 0.
  CHECK(engine::flow_paths(c, gpus({0, 2, 4}), Pattern::ring) == std::vector<FlowPath>{{GpuId{0}, GpuId{2}, 1.0}, {GpuId{2}, GpuId{4}, 1.0}, {GpuId{4}, GpuId{0}, 1.0}});
  CHECK(engine::flow_paths(c, gpus({0, 2, 4}), Pattern::chain).size() == 2);
  // Two GPUs a node: each sends from its own.
  CHECK(engine::flow_paths(c, gpus({0, 1, 2, 3}), Pattern::ring) ==
        std::vector<FlowPath>{{GpuId{0}, GpuId{2}, 1.0}, {GpuId{1}, GpuId{3}, 1.0}, {GpuId{2}, GpuId{0}, 1.0}, {GpuId{3}, GpuId{1}, 1.0}});
  // Each node to both others, half of the bytes each.
  const auto pairs = engine::flow_paths(c, gpus({0, 2, 4}), Pattern::pairwise);
  CHECK(pairs.size() == 6);
  CHECK(pairs[0] == FlowPath{GpuId{0}, GpuId{2}, 0.5});
  CHECK(pairs[1] == FlowPath{GpuId{0}, GpuId{4}, 0.5});
  CHECK(engine::flow_paths(c, gpus({2, 0}), Pattern::forward) == std::vector<FlowPath>{{GpuId{2}, GpuId{0}, 1.0}});
  CHECK(engine::flow_paths(c, gpus({2, 0}), Pattern::backward) == std::vector<FlowPath>{{GpuId{0}, GpuId{2}, 1.0}});
  CHECK(engine::flow_paths(c, gpus({0, 1}), Pattern::ring).empty());
}
