// Workloads without start times: durations, dependencies and a network. Times in microseconds.
#include "sim/cluster/builders.h"
#include "sim/cluster/placement.h"
#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile.h"
#include "sim/engine/engine.h"
#include "sim/replay/untimed.h"
#include "sim/trace/match.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using trace::NodeTable;

namespace {

constexpr replay::Sizes kNotSaid{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0};

/// A workload by hand: every operation without a start.
struct Workload {
  trace::ImportedRun run;
  std::uint32_t add_rank() {
    trace::RankTrace rank;
    rank.rank = static_cast<std::int32_t>(run.ranks.size());
    rank.file = "by hand";
    rank.streams = {{.device = 0, .stream = 0, .name = 0}, {.device = 0, .stream = 1, .name = 0}};
    rank.threads.emplace_back();
    run.ranks.push_back(rank);
    return static_cast<std::uint32_t>(run.ranks.size() - 1);
  }
  std::uint32_t compute(std::uint32_t rank, const std::string& name, trace::Nanoseconds us) {
    run.ranks[rank].device_ops.push_back({.duration = us * 1000, .name = run.strings.intern(name)});
    return static_cast<std::uint32_t>(run.ranks[rank].device_ops.size() - 1);
  }
  std::uint32_t group(const std::string& name, std::uint32_t size = 0) {
    run.groups.push_back({.name = run.strings.intern(name), .description = 0, .ranks = {}, .size = size});
    return static_cast<std::uint32_t>(run.groups.size() - 1);
  }
  std::uint32_t all_reduce(std::uint32_t rank, std::uint32_t of, trace::Nanoseconds us, double bytes = 1048576.0) {
    trace::RankTrace& r = run.ranks[rank];
    const std::uint32_t op = compute(rank, "all_reduce", us);
    r.device_ops[op].stream = 1;
    r.device_ops[op].collective = static_cast<std::uint32_t>(r.collectives.size());
    r.collectives.push_back({.kind = trace::CommKind::all_reduce, .name = r.device_ops[op].name, .group = of, .bytes = bytes, .dtype = 0, .device_op = op});
    return op;
  }
  void edge(std::uint32_t rank, std::uint32_t from, std::uint32_t to) { run.ranks[rank].edges.push_back({.from = {NodeTable::device_ops, from}, .to = {NodeTable::device_ops, to}}); }
};

struct Simulated {
  replay::Built built;
  timeline::Timeline timeline;
};

Simulated simulate(const trace::ImportedRun& run, const replay::Machine* machine = nullptr, const replay::Sizes& said = kNotSaid) {
  Simulated s;
  s.built = replay::build_untimed(run, trace::match_collectives(run), machine, said);
  s.timeline = engine::run_fast(engine::unfolded(s.built.workload), {.spans_of = {}, .all_spans = true});
  return s;
}

double end_of(const Simulated& s, std::uint32_t rank, std::uint32_t device_op) {
  for (const timeline::Span& span : s.timeline.spans) {
    if (span.rank == rank && span.task == s.built.task_of[rank][device_op]) return span.end.value() * 1e6;
  }
  return -1.0;
}

}  // namespace

TEST_CASE("a workload without start times: streams in order, dependencies, members wait for each other") {
  // Rank 0: a 0-10, its all-reduce is there at 10; c 10-14. Rank 1: a 0-20, all-reduce there at 20. Both transfer 20-25 (the least of 5 and 7); b waits for it: 25-28.
  Workload w;
  const std::uint32_t g = w.group("all");
  for (const trace::Nanoseconds a_time : {10, 20}) {
    const std::uint32_t r = w.add_rank(), a = w.compute(r, "a", a_time), x = w.all_reduce(r, g, a_time == 10 ? 5 : 7), c = w.compute(r, "c", 4), b = w.compute(r, "b", 3);
    w.edge(r, a, x);
    w.edge(r, x, b);
    (void)c;
  }
  const Simulated s = simulate(w.run);
  CHECK(end_of(s, 0, 0) == Approx(10));
  CHECK(end_of(s, 0, 2) == Approx(14));
  CHECK(end_of(s, 0, 1) == Approx(25));
  CHECK(end_of(s, 1, 1) == Approx(25));
  CHECK(end_of(s, 0, 3) == Approx(28));
  CHECK(s.timeline.step_time.value() == Approx(28e-6));
  CHECK(testing::count_of(s.built.report, "import.replay.collectives.all_reduce") == 2);
}

TEST_CASE("the host's nodes stand between the device's") {
  // a 0-10, an operator of the host 10-14, b 14-17
  Workload w;
  const std::uint32_t r = w.add_rank(), a = w.compute(r, "a", 10), b = w.compute(r, "b", 3);
  w.run.ranks[r].ops.push_back({.duration = 4'000, .name = w.run.strings.intern("host")});
  w.run.ranks[r].edges = {{.from = {NodeTable::device_ops, a}, .to = {NodeTable::ops, 0}}, {.from = {NodeTable::ops, 0}, .to = {NodeTable::device_ops, b}}};
  CHECK(end_of(simulate(w.run), r, b) == Approx(17));
}

TEST_CASE("a communication without a duration takes what the network takes for it") {
  Workload w;
  const std::uint32_t g = w.group("all");
  for (int i = 0; i < 8; ++i) w.all_reduce(w.add_rank(), g, 0);
  CHECK_THROWS_WITH(simulate(w.run), Catch::Contains("--machine"));
  const auto cluster = *cluster::builtin_cluster("dgx-h100", 1);
  const cost::Profile profile = cost::load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + cluster.node.gpu.profile + ".json");
  const replay::Machine machine{cluster, profile};
  std::vector<GpuId> all;
  for (std::uint32_t i = 0; i < 8; ++i) all.push_back(GpuId{i});
  Diagnostics report;
  const double expected = cost::collective_time(profile, graph::CollectiveOp::all_reduce, Bytes(1048576.0), cluster::group_shape(cluster, all, 1.0), report).time().value();
  REQUIRE(expected > 5e-6);
  CHECK(simulate(w.run, &machine).timeline.step_time.value() == Approx(expected).epsilon(1e-4));

  // One rank alone: its group's size is in the file, or is said, or it is refused.
  Workload alone;
  alone.all_reduce(alone.add_rank(), alone.group("dp"), 0);
  CHECK_THROWS_WITH(simulate(alone.run, &machine), Catch::Contains("whose size is not in the file"));
  const Simulated said = simulate(alone.run, &machine, {.dp = 8, .tp = 0, .pp = 0, .micro_batches = 0});
  CHECK(said.timeline.step_time.value() == Approx(expected).epsilon(1e-4));
  CHECK(testing::count_of(said.built.report, "import.replay.group_members_guessed") == 1);
  alone.run.groups[0].size = 8;
  CHECK(simulate(alone.run, &machine).timeline.step_time.value() == Approx(expected).epsilon(1e-4));
  // Of four tensor groups of two each, a data group has every second GPU.
  alone.group("tp", 2);
  CHECK(replay::ranks_of(alone.run, kNotSaid) == 16);
}

TEST_CASE("communicators used in differing order do not hang; an operation that differs is matched with none") {
  Workload w;
  const std::uint32_t g = w.group("g"), h = w.group("h");
  for (const bool turned : {false, true}) {
    const std::uint32_t r = w.add_rank();
    w.all_reduce(r, turned ? h : g, 5);
    w.all_reduce(r, turned ? g : h, 7);
  }
  CHECK(simulate(w.run).timeline.step_time.value() == Approx(5e-6));  // the least of 5 and 7, twice, beside each other
  w.run.ranks[1].collectives[0].kind = trace::CommKind::all_gather;
  CHECK(simulate(w.run).timeline.step_time.value() == Approx(7e-6));
}

TEST_CASE("workloads that say no time at all, or wait in a circle, are refused") {
  Workload w;
  const std::uint32_t r = w.add_rank();
  w.compute(r, "a", 0);
  CHECK_THROWS_WITH(simulate(w.run), Catch::Contains("none with a duration or a start time"));
  w.compute(r, "b", 1);
  CHECK(testing::count_of(simulate(w.run).built.report, "import.replay.kernels_without_duration") == 1);
  w.edge(r, 0, 1);
  w.edge(r, 1, 0);
  CHECK_THROWS_WITH(simulate(w.run), Catch::Contains("in a circle of 2 operations: \"a\" -> \"b\" -> \"a\""));
}

namespace {

/// A node of dgx-h100s, and what its network takes for an operation of the first `ranks` GPUs.
struct Node8 {
  cluster::Cluster cluster;
  cost::Profile profile;
  explicit Node8(int nodes) : cluster(*cluster::builtin_cluster("dgx-h100", nodes)), profile(cost::load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + cluster.node.gpu.profile + ".json")) {}
  double time(graph::CollectiveOp op, double bytes, std::uint32_t ranks) const {
    std::vector<GpuId> all;
    for (std::uint32_t i = 0; i < ranks; ++i) all.push_back(GpuId{i});
    Diagnostics report;
    return cost::collective_time(profile, op, Bytes(bytes), cluster::group_shape(cluster, all, 1.0), report).time().value();
  }
};

}  // namespace

TEST_CASE("ranks without a file are members of the communicator of all ranks, and are named") {
  // Files of ranks 0, 1, 3, 5, 6, 7: eight ranks, 2 and 4 have none.
  Workload w;
  const std::uint32_t g = w.group("");
  for (const std::int32_t rank : {0, 1, 3, 5, 6, 7}) {
    w.all_reduce(w.add_rank(), g, 0);
    w.run.ranks.back().rank = rank;
  }
  const Node8 node(2);
  const replay::Machine machine{node.cluster, node.profile};
  const double of_8 = node.time(graph::CollectiveOp::all_reduce, 1048576.0, 8), of_6 = node.time(graph::CollectiveOp::all_reduce, 1048576.0, 6);
  REQUIRE(of_8 > of_6 * 1.01);
  const Simulated s = simulate(w.run, &machine);
  CHECK(s.timeline.step_time.value() == Approx(of_8).epsilon(1e-4));
  CHECK(testing::count_of(s.built.report, "import.replay.ranks_not_in_files") == 2);
  CHECK(s.built.report.entries().at("import.replay.ranks_not_in_files").example.find("ranks 2 and 4 of 8") != std::string::npos);
  CHECK(replay::not_in_files(w.run, 8) == std::vector<std::uint32_t>{2, 4});

  // Sixteen are given; four would be fewer than the files have; a name without a size or members, and ranks that are missing, is refused.
  CHECK(simulate(w.run, &machine, {.dp = 16, .tp = 0, .pp = 0, .micro_batches = 0}).timeline.step_time.value() == Approx(node.time(graph::CollectiveOp::all_reduce, 1048576.0, 16)).epsilon(1e-4));
  CHECK_THROWS_WITH(simulate(w.run, &machine, {.dp = 4, .tp = 0, .pp = 0, .micro_batches = 0}), Catch::Contains("4 ranks, and files that tell of 8"));
  w.run.groups[g].name = w.run.strings.intern("dp");
  CHECK_THROWS_WITH(simulate(w.run, &machine), Catch::Contains("no files of ranks 2 and 4"));
}

TEST_CASE("ranks that contradict each other are refused in the import's words") {
  const Node8 node(1);
  const replay::Machine machine{node.cluster, node.profile};
  Workload order;
  const std::uint32_t g = order.group("");
  for (int i = 0; i < 2; ++i) order.all_reduce(order.add_rank(), g, 0);
  order.run.ranks[1].collectives[0].kind = trace::CommKind::all_gather;
  CHECK_THROWS_WITH(simulate(order.run, &machine), Catch::Contains("group \"\", operation 0: rank 0 has all_reduce of 1048576 bytes (all_reduce), rank 1 has all_gather"));
  order.run.ranks[1].collectives[0].kind = trace::CommKind::all_reduce;
  CHECK_NOTHROW(simulate(order.run, &machine));
  order.all_reduce(1, g, 0);
  CHECK_THROWS_WITH(simulate(order.run, &machine), Catch::Contains("1 operations on one rank, 2 on another"));

  Workload size;
  const std::uint32_t h = size.group("");
  size.all_reduce(size.add_rank(), h, 0);
  size.all_reduce(size.add_rank(), h, 0, 1024.0);
  CHECK_THROWS_WITH(simulate(size.run, &machine), Catch::Contains("rank 1 has all_reduce of 1024 bytes"));
}

TEST_CASE("receives that face each other: the circle over both ranks is named") {
  Workload w;
  const std::uint32_t g = w.group("");
  for (const std::int32_t rank : {0, 1}) {
    const std::uint32_t r = w.add_rank(), first = w.all_reduce(r, g, 5), second = w.all_reduce(r, g, 5);
    auto& collectives = w.run.ranks[r].collectives;
    collectives[0].kind = trace::CommKind::receive, collectives[1].kind = trace::CommKind::send;
    collectives[0].peer = collectives[1].peer = 1 - rank;
    w.edge(r, first, second);
  }
  CHECK_THROWS_WITH(simulate(w.run), Catch::Contains("2 operations that wait for each other in a circle") && Catch::Contains("receive \"all_reduce\" of rank 0 with send \"all_reduce\" of rank 1"));
  // One sends first: 5 there, 5 back.
  std::swap(w.run.ranks[1].edges[0].from, w.run.ranks[1].edges[0].to);
  CHECK(simulate(w.run).timeline.step_time.value() == Approx(10e-6));
}

TEST_CASE("a chain of 100,000 operations is ordered without recursion") {
  Workload w;
  const std::uint32_t r = w.add_rank();
  for (std::uint32_t i = 0; i < 100'000; ++i) w.compute(r, "k", 1);
  for (std::uint32_t i = 1; i < 100'000; ++i) w.edge(r, i, i - 1);  // backwards
  CHECK(simulate(w.run).timeline.step_time.value() == Approx(0.1));
}
