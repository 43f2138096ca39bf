#include <set>

#include "sim/cluster/builders.h"
#include "sim/lower/binding/layout.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"
#include "tests/unit/lower/program_reference_engine.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

std::vector<std::uint32_t> numbers(const std::vector<RankId>& ranks) {
  std::vector<std::uint32_t> n;
  for (const RankId r : ranks) n.push_back(r.value);
  return n;
}

using Numbers = std::vector<std::uint32_t>;

const fake::LayerSizes kLayer{.forward_us = 10.0, .backward_us = 20.0, .parameters = 1000, .boundary = 100.0, .saved = 0.0};

}  // namespace

// tp 2, cp 1, dp 4, pp 2 on 16 ranks: tp fastest, then dp, then pp. Rank 11 = 1 + 2 (1 + 4 * 1): tp 1, dp 1, pp 1.
TEST_CASE("rank order and communicators") {
  plan::Plan p;
  p.tp = 2;
  p.dp = 4;
  p.pp = 2;
  const Coordinates at = coordinates_of(p, RankId{11});
  CHECK(at == Coordinates{.tp = 1, .cp = 0, .dp = 1, .pp = 1});
  CHECK(rank_at(p, at).value == 11);
  CHECK(numbers(members_of(p, 2, Slot::tensor, at)) == Numbers{10, 11});
  CHECK(numbers(members_of(p, 2, Slot::data, at)) == Numbers{9, 11, 13, 15});
  CHECK(numbers(members_of(p, 2, Slot::shard, at)) == Numbers{9, 11});
  CHECK(numbers(members_of(p, 2, Slot::replicate, at)) == Numbers{11, 15});
  CHECK(numbers(members_of(p, 2, Slot::forward_in, at)) == Numbers{3, 11});
  CHECK(numbers(members_of(p, 2, Slot::forward_out, at)) == Numbers{11, 3});  // wraps to the next chunk of stage 0
  CHECK(numbers(members_of(p, 2, Slot::backward_out, at)) == Numbers{11, 3});
  CHECK(numbers(members_of(p, 2, Slot::embedding, at)) == Numbers{3, 11});
  CHECK(numbers(members_of(p, 2, Slot::model, at)) == Numbers{2, 3, 10, 11});
  p.ep = 2;
  CHECK(numbers(members_of(p, 2, Slot::expert, at)) == Numbers{9, 11});
  CHECK(numbers(members_of(p, 2, Slot::expert_data, at)) == Numbers{11, 15});
}

TEST_CASE("context parallel ranks hold the same parameters as data parallel ones") {
  plan::Plan p;
  p.cp = 2;
  p.dp = 2;
  CHECK(numbers(members_of(p, 2, Slot::data, {})) == Numbers{0, 1, 2, 3});
  CHECK(numbers(members_of(p, 2, Slot::context, {.tp = 0, .cp = 1, .dp = 1, .pp = 0})) == Numbers{2, 3});
}

TEST_CASE("all members agree on their communicator's leader, and no two communicators share one") {
  plan::Plan p;
  p.tp = 2;
  p.cp = 2;
  p.dp = 4;
  p.pp = 3;
  p.ep = 4;
  for (const Slot slot : {Slot::tensor, Slot::context, Slot::expert, Slot::data, Slot::expert_data, Slot::shard, Slot::replicate, Slot::embedding, Slot::model}) {
    for (int r = 0; r < p.world(); ++r) {
      const Coordinates at = coordinates_of(p, RankId{static_cast<std::uint32_t>(r)});
      if (slot == Slot::embedding && at.pp == 1) continue;
      const auto members = members_of(p, 2, slot, at);
      CHECK(std::count(members.begin(), members.end(), RankId{static_cast<std::uint32_t>(r)}) == 1);
      for (const RankId other : members) {
        CHECK(leader_of(p, 2, slot, coordinates_of(p, other)) == members.front());
        CHECK(members_of(p, 2, slot, coordinates_of(p, other)) == members);
      }
    }
  }
  const Coordinates from{.tp = 0, .cp = 1, .dp = 2, .pp = 1};
  CHECK(leader_of(p, 2, Slot::forward_out, from) == leader_of(p, 2, Slot::forward_in, {.tp = 0, .cp = 1, .dp = 2, .pp = 2}));
  CHECK(leader_of(p, 2, Slot::backward_out, from) == leader_of(p, 2, Slot::backward_in, {.tp = 0, .cp = 1, .dp = 2, .pp = 0}));
}

// 4 nodes of 2, tp 2, dp 4: each node holds two dp groups, one for each tensor rank: both use its NICs at once. The fake shape
// keeps the number in nics_per_node.
TEST_CASE("groups of one kind share their nodes") {
  plan::Plan p;
  p.tp = 2;
  p.dp = 4;
  p.global_batch = 4;
  TaskCosts costs = fake::costs();
  std::set<std::pair<int, double>> seen;  // ranks of the group, groups a node
  costs.collective = [&](graph::CollectiveOp, Bytes, const cluster::GroupShape& shape) {
    seen.emplace(shape.ranks, shape.nics_per_node);
    return cost::TransferEstimate{};
  };
  (void)fake::lowered(fake::chain(2, kLayer), p, fake::bare(), fake::gpus(4, 2), costs);
  CHECK(seen == std::set<std::pair<int, double>>{{4, 2.0}});
}

TEST_CASE("one program a stage when all links are equal, one more where a rank's links differ") {
  plan::Plan p;
  p.dp = 4;
  p.pp = 2;
  p.global_batch = 8;
  const cluster::Cluster c = fake::gpus(4, 2);
  Lowered l = fake::lowered(fake::chain(2, kLayer), p, fake::bare(), c, fake::costs());
  CHECK(l.workload.programs.size() == 2);
  CHECK(l.memory.size() == 2);
  // The shape of every group with GPU 0 in it is slow: stage 0's data-parallel group, and rank 0's pipeline pair.
  const ShapeOf slow = [&](std::span<const GpuId> members, double concurrent) {
    cluster::GroupShape shape = fake::shapes(c)(members, concurrent);
    if (std::count(members.begin(), members.end(), GpuId{0}) > 0) shape.nic_bandwidth = BytesPerSecond(1.0);
    return shape;
  };
  cluster::Cluster faulty = c;
  faulty.faults = {{.kind = cluster::FaultKind::slow_nic, .node = 0, .index = 0, .factor = 0.5}};
  l = lower_segmented(fake::chain(2, kLayer), p, fake::bare(), faulty, slow, fake::costs());
  CHECK(l.workload.programs.size() == 4);  // rank 0, its peers, its partner on stage 1, the partner's peers
  CHECK(l.workload.ranks[0].program != l.workload.ranks[1].program);
  CHECK(l.workload.ranks[1].program == l.workload.ranks[3].program);
}

TEST_CASE("a slow GPU slows its rank only") {
  plan::Plan p;
  p.dp = 2;
  p.global_batch = 2;
  cluster::Cluster c = fake::gpus(1, 2);
  c.faults = {{.kind = cluster::FaultKind::slow_gpu, .node = 0, .index = 1, .factor = 0.5}};
  const Lowered l = fake::lowered(fake::chain(2, kLayer), p, fake::bare(), c, fake::costs());
  CHECK(l.workload.ranks[0].speed == 1.0);
  CHECK(l.workload.ranks[1].speed == 0.5);
  const auto times = reference::simulate(l.workload);
  REQUIRE(times);
  CHECK(reference::makespan(*times).value() >= 2.0 * 60e-6);
}

// Shapes found through signatures are those that the cluster gives, on a fabric with leaf boundaries.
TEST_CASE("shapes on a real fabric") {
  plan::Plan p;
  p.tp = 8;
  p.dp = 6;
  p.pp = 4;
  p.global_batch = 24;
  cluster::Cluster c = *cluster::builtin_cluster("dgx-a100-80gb", 24);
  c.fabric.nodes_per_leaf = 5;
  const ShapeOf real = [&](std::span<const GpuId> m, double k) { return cluster::group_shape(c, m, k); };
  TaskCosts costs = fake::costs();
  costs.collective = [](graph::CollectiveOp, Bytes, const cluster::GroupShape& shape) {
    cost::TransferEstimate t;
    t.latency = Seconds(shape.switch_hops + 10.0 * shape.nics_per_node + 1000.0 * shape.ranks);
    return t;
  };
  const Lowered l = lower_segmented(fake::chain(4, kLayer), p, fake::bare(), c, real, costs);
  std::map<std::string, std::map<std::string, int>> concurrent;
  for (const RankBinding& rank : l.workload.ranks) {
    const Program& program = l.workload.programs[rank.program.value];
    for (const Comm& comm : program.comms) {
      const Group& group = l.workload.groups[rank.groups[comm.slot].value];
      std::vector<GpuId> gpus;
      for (const RankId m : group.members) gpus.push_back(GpuId{m.value});
      const auto shape = cluster::group_shape(c, gpus, 8.0);  // all 8 GPUs of a node send at once
      CHECK(comm.transfer.latency.value() == shape.switch_hops + 10.0 * shape.nics_per_node + 1000.0 * shape.ranks);
    }
  }
}
