#include "sim/cost/collective.h"

#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/small_profile.h"

namespace sgsim::cost {
namespace {

using graph::CollectiveOp;

double us(Seconds s) { return s.value() * 1e6; }

cluster::GroupShape one_node(int ranks) {
  cluster::GroupShape g;
  g.ranks = g.ranks_per_node = ranks;
  g.nvlink_bandwidth = BytesPerSecond(1e11);
  return g;
}
cluster::GroupShape nodes(int count, int per_node, double nics) {
  cluster::GroupShape g = one_node(per_node);
  g.ranks = count * per_node;
  g.nodes = count;
  g.nics_per_node = nics;
  g.nic_bandwidth = BytesPerSecond(2e10);
  g.nic_latency = 1.0_us;
  g.switch_hops = 3;
  g.switch_latency = Seconds(1e-6 / 3.0);
  return g;
}

TEST_CASE("ring on one node: 2 (n-1)/n S/B + base + 2 (n-1) hop") {
  const Profile p = small_profile();
  Diagnostics d;
  // 8 ranks, 80 MB: 14/8 * 80 MB = 140 MB at 100 GB/s: 1400 us; 10 + 14 * 1 us.
  const TransferEstimate e = collective_time(p, CollectiveOp::all_reduce, Bytes(80e6), one_node(8), d);
  CHECK(us(e.time()) == Approx(1424.0));
  CHECK(us(e.latency) == Approx(24.0));
  CHECK(e.wire_bytes.value() == Approx(140e6));
  CHECK(e.algorithm == "ring");
  CHECK_FALSE(e.inter_node);
  // All-gather and reduce-scatter: half of it.
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) CHECK(us(collective_time(p, op, Bytes(80e6), one_node(8), d).time()) == Approx(700.0 + 10.0 + 7.0));
  CHECK(us(collective_time(p, CollectiveOp::broadcast, Bytes(80e6), one_node(8), d).time()) == Approx(800.0 + 17.0));
}

TEST_CASE("each rank's own share is copied at the local bandwidth") {
  Profile p = small_profile();
  p.rates["collective.local"].value = BytesPerSecond(1e12);
  Diagnostics d;
  // 80 MB / 8 at 1 TB/s: 10 us more.
  CHECK(us(collective_time(p, CollectiveOp::all_reduce, Bytes(80e6), one_node(8), d).time()) == Approx(1434.0));
}

TEST_CASE("ring across nodes: the NICs bind, crossings take the network's latency") {
  const Profile p = small_profile();
  // 3 nodes of 4, 2 NICs of 20 GB/s at half efficiency: 20 GB/s a node. S = 12 MB: 22/12 * 12 MB = 22 MB over a node's NICs:
  // 1100 us. 22 steps, 4 of them cross: base 20 + 18 * 1 + 4 * (5 + 1 + 1).
  const auto options = collective_options(p, CollectiveOp::all_reduce, Bytes(12e6), nodes(3, 4, 2.0));
  const auto ring = std::find_if(options.begin(), options.end(), [](const CollectiveOption& o) { return o.algorithm == Algorithm::ring; });
  REQUIRE(ring != options.end());
  CHECK(us(ring->latency) == Approx(20.0 + 18.0 + 28.0));
  CHECK(us(ring->time()) == Approx(66.0 + 1100.0));
  CHECK(ring->inter_node);
  CHECK(ring->wire_bytes.value() == Approx(22e6 / 4));                 // what one rank sends through its NIC share
  CHECK(ring->bandwidth.value() == Approx(2e10 / 4));
}

TEST_CASE("tree across nodes: latency grows with the logarithm of the nodes") {
  const Profile p = small_profile();
  // 8 nodes of 4: 20 + 2 * (3 * 1 + 3 * 7) us; 2 S over a node's 20 GB/s, more than S over a chain at 0.5 * 100 GB/s.
  const auto options = collective_options(p, CollectiveOp::all_reduce, Bytes(1e6), nodes(8, 4, 2.0));
  const auto tree = std::find_if(options.begin(), options.end(), [](const CollectiveOption& o) { return o.algorithm == Algorithm::tree; });
  REQUIRE(tree != options.end());
  CHECK(us(tree->latency) == Approx(68.0));
  CHECK(us(tree->time()) == Approx(68.0 + 100.0));
  // A small all-reduce takes the tree, a large one the ring (2 (n-1)/n S is less than 2 S).
  CHECK(choose_collective(p, CollectiveOp::all_reduce, Bytes(1e3), nodes(8, 4, 2.0)).algorithm == Algorithm::tree);
  CHECK(choose_collective(p, CollectiveOp::all_reduce, Bytes(1e9), nodes(8, 4, 2.0)).algorithm == Algorithm::ring);
}

TEST_CASE("all-to-all and sends") {
  const Profile p = small_profile();
  Diagnostics d;
  // 4 ranks, 4 MB: 3 MB at 100 GB/s: 30 us, + 10 + 3.
  CHECK(us(collective_time(p, CollectiveOp::all_to_all, Bytes(4e6), one_node(4), d).time()) == Approx(43.0));
  // 2 nodes of 2: 2 of 4 shares leave the node: 2 MB a rank, 4 MB a node at 10 GB/s (1 NIC at half efficiency): 400 us.
  const TransferEstimate across = collective_time(p, CollectiveOp::all_to_all, Bytes(4e6), nodes(2, 2, 1.0), d);
  CHECK(us(across.time()) == Approx(400.0 + 20.0 + 3.0 + 7.0));
  CHECK(across.wire_bytes.value() == Approx(2e6));
  CHECK(us(collective_time(p, CollectiveOp::send_receive, Bytes(1e6), one_node(2), d).time()) == Approx(10.0 + 11.0));
  CHECK(us(collective_time(p, CollectiveOp::send_receive, Bytes(1e6), nodes(2, 1, 1.0), d).time()) == Approx(100.0 + 27.0));
  CHECK(collective_time(p, CollectiveOp::send_receive, Bytes(1e6), nodes(2, 1, 1.0), d).algorithm == "direct");
}

TEST_CASE("multicast: S (1 + 1/n) on three GPUs or more behind a switch") {
  Profile p = small_profile();
  p.protocols.push_back({Algorithm::nvls, Protocol::simple, LinkClass::nvlink, 15.0_us, Seconds(), 0.9, "s"});
  // 8 ranks: 1.125 * 80 MB at 90 GB/s: 1000 us + 15, against the ring's 1424.
  CHECK(us(choose_collective(p, CollectiveOp::all_reduce, Bytes(80e6), one_node(8)).time()) == Approx(1015.0));
  CHECK(choose_collective(p, CollectiveOp::all_reduce, Bytes(80e6), one_node(2)).algorithm == Algorithm::ring);
  cluster::GroupShape mesh = one_node(8);
  mesh.intra = cluster::IntraNode::nvlink_mesh;
  CHECK(choose_collective(p, CollectiveOp::all_reduce, Bytes(80e6), mesh).algorithm == Algorithm::ring);
}

// 8 ranks, 80 MB: 1400 us of transfer, 10 + 14 hops of 1 us. NVLink 2 us slower than the profile's machine: 14 x 2 us more.
// The sweep (twice the model) scales what it measured only: 2 (10 + 14) + 28.
TEST_CASE("NVLink latency beyond the measured machine's adds its hops, which no sweep scales") {
  Profile p = small_profile();
  Diagnostics d;
  cluster::GroupShape slow = one_node(8);
  slow.nvlink_latency_added = 2.0_us;
  CHECK(us(collective_time(p, CollectiveOp::all_reduce, Bytes(80e6), slow, d).latency) == Approx(52.0));
  p.sweeps = {{.op = CollectiveOp::all_reduce, .ranks = 8, .bytes = {80000000}, .time_ns = {2 * 1424000}, .source = "s"}};
  const TransferEstimate e = collective_time(p, CollectiveOp::all_reduce, Bytes(80e6), slow, d);
  CHECK(us(e.latency) == Approx(76.0));
  CHECK(us(e.time()) == Approx(2.0 * 1400.0 + 76.0));
}

TEST_CASE("a sweep corrects the model where operation and links match") {
  Profile p = small_profile();
  // Measured twice the model at 2 ranks (model: 10 + 2 + S / 100 GB/s).
  p.sweeps = {{.op = CollectiveOp::all_reduce, .ranks = 2, .bytes = {1000000, 100000000}, .time_ns = {2 * 22000, 2 * 1012000}, .source = "s"}};
  Diagnostics d;
  const TransferEstimate e = collective_time(p, CollectiveOp::all_reduce, Bytes(1e6), one_node(2), d);
  CHECK(us(e.time()) == Approx(44.0));
  CHECK(e.source == Source::measured);
  CHECK(us(collective_time(p, CollectiveOp::all_reduce, Bytes(1e7), one_node(2), d).time()) == Approx(2.0 * 112.0));
  CHECK(us(collective_time(p, CollectiveOp::all_reduce, Bytes(1e6), one_node(4), d).time()) == Approx(31.0));  // 10 + 6 + 15: no sweep
  CHECK(d.empty());
  // A slower link still is slower.
  cluster::GroupShape slow = one_node(2);
  slow.nvlink_bandwidth = BytesPerSecond(5e10);
  CHECK(us(collective_time(p, CollectiveOp::all_reduce, Bytes(1e8), slow, d).time()) > 1.9 * us(collective_time(p, CollectiveOp::all_reduce, Bytes(1e8), one_node(2), d).time()));
}

TEST_CASE("one rank has nothing to do; missing links are an error") {
  Profile p = small_profile();
  Diagnostics d;
  CHECK(collective_time(p, CollectiveOp::all_reduce, Bytes(1e6), one_node(1), d).time() == Seconds());
  cluster::GroupShape pcie = one_node(4);
  pcie.intra = cluster::IntraNode::pcie;
  CHECK_THROWS_AS(collective_time(p, CollectiveOp::all_reduce, Bytes(1e6), pcie, d), InputError);
}

}  // namespace
}  // namespace sgsim::cost
