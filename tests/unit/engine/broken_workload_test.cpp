// Workloads that cannot run end with an error that says where and what, in both engines; never a crash or a hang.
#include <functional>
#include <limits>

#include "sim/core/error.h"

#include "tests/unit/engine/run_engine.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

std::string message_of(const char* engine, const lower::Workload& workload) {
  try {
    (void)run_engine(engine, workload, slow_cluster(1, 8));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

void check_message(const lower::Workload& workload, const std::vector<std::string>& parts) {
  for (const char* engine : {"fast", "simgrid"}) {
    const std::string message = message_of(engine, workload);
    INFO(engine << ": " << message);
    for (const std::string& part : parts) CHECK(message.find(part) != std::string::npos);
  }
}

/// Two ranks of one group, each with a program that `write` fills.
lower::Workload two_ranks(const std::function<void(ProgramBuilder&, int rank)>& write) {
  lower::Workload w;
  for (int r = 0; r < 2; ++r) {
    ProgramBuilder b("program of " + std::to_string(r));
    b.stream("comm");
    b.comm(0, "gather", 1.0, 8.0, 1.0, false, graph::CollectiveOp::all_gather);
    b.comm(0, "reduce", 1.0, 8.0, 1.0, false, graph::CollectiveOp::reduce_scatter);
    write(b, r);
    w.programs.push_back(b.program());
    add_rank(w, static_cast<std::uint32_t>(r));
  }
  add_group(w, "dp", {0, 1});
  return w;
}

}  // namespace

TEST_CASE("members that use a group unequally often") {
  const auto w = two_ranks([](ProgramBuilder& b, int rank) {
    b.collective(0, 0);
    if (rank == 1) b.collective(0, 1);
  });
  check_message(w, {"rank 1", "use 1 of group 0 (dp)", "reduce_scatter of 8", "rank 0 (program \"program of 0\") has finished without it"});
}

TEST_CASE("members that use a group in different order") {
  const auto w = two_ranks([](ProgramBuilder& b, int rank) {
    b.collective(0, rank == 0 ? 0 : 1);
    b.collective(0, rank == 0 ? 1 : 0);
  });
  check_message(w, {"rank 1, use 0 of group 0 (dp)", "all_gather of 8", "reduce_scatter of 8", "rank 0"});
}

TEST_CASE("members with different sizes") {
  auto w = two_ranks([](ProgramBuilder& b, int) { b.collective(0, 0); });
  w.programs[1].comms[0].payload = Bytes(16.0);
  check_message(w, {"all_gather of 16", "all_gather of 8"});
}

TEST_CASE("two sends meet, or a send meets a collective") {
  check_message(two_ranks([](ProgramBuilder& b, int) { b.communicate(TaskKind::send, 0, 0); }), {"send of 8", "one send with one receive"});
  check_message(two_ranks([](ProgramBuilder& b, int rank) { b.communicate(rank == 0 ? TaskKind::send : TaskKind::collective, 0, 0); }), {"send of 8", "all_gather of 8"});
}

TEST_CASE("a send in a group of three") {
  auto w = two_ranks([](ProgramBuilder& b, int rank) { b.communicate(rank == 0 ? TaskKind::send : TaskKind::receive, 0, 0); });
  add_rank(w, 1);
  w.ranks.back().groups = {GroupId{0}};
  w.groups[0].members.push_back(RankId{2});
  check_message(w, {"a group of two for a send or a receive"});
}

// Each of two ranks waits in a group that the other comes to later: nobody can go on.
TEST_CASE("two ranks wait for each other in two groups") {
  lower::Workload w;
  for (std::uint16_t r = 0; r < 2; ++r) {
    ProgramBuilder b("program of " + std::to_string(r));
    const auto s = b.stream("comm");
    const std::uint32_t comms[] = {b.comm(0, "a", 1.0), b.comm(1, "b", 1.0)};
    b.collective(s, comms[r]);
    b.collective(s, comms[1 - r]);
    w.programs.push_back(b.program());
    add_rank(w, r);
  }
  add_group(w, "first", {0, 1});
  add_group(w, "second", {0, 1});
  check_message(w, {"waits for ever", "use 0 of group 0 (first)", "rank 1", "use 0 of group 1 (second)"});
}

TEST_CASE("a rank that waits behind another task is named with that task") {
  const auto w = two_ranks([](ProgramBuilder& b, int rank) {
    if (rank == 1) {
      const auto other = b.stream("other");
      b.collective(other, 0);
      b.collective(other, 0);
    } else {
      b.collective(0, 0);
    }
  });
  check_message(w, {"rank 1", "task 1", "waits for ever"});
}

TEST_CASE("indices and numbers out of range") {
  const auto broken = [](const std::function<void(lower::Workload&)>& change, const std::string& expected) {
    auto w = two_ranks([](ProgramBuilder& b, int) {
      b.compute(0, 1.0);
      b.collective(0, 0);
    });
    change(w);
    check_message(w, {expected});
  };
  broken([](lower::Workload& w) { w.programs[0].tasks[0].stream = 9; }, "found stream 9");
  broken([](lower::Workload& w) { w.programs[0].tasks[1].comm = 9; }, "found communication 9");
  broken([](lower::Workload& w) { w.programs[0].tasks[0].device = Seconds(-1.0); }, "finite times, not negative");
  broken([](lower::Workload& w) { w.programs[0].tasks[0].device = Seconds(std::numeric_limits<double>::quiet_NaN()); }, "finite times");
  broken([](lower::Workload& w) { w.programs[0].tasks[0].dependency_count = 1; }, "dependencies 0 to 1");
  broken([](lower::Workload& w) {
    w.programs[0].dependencies.push_back({.stream = 0, .position = 2});
    w.programs[0].tasks[0].dependency_count = 1;
  }, "tasks that are issued earlier");
  broken([](lower::Workload& w) { w.programs[0].compute_slowdown = 0.5; }, "factors of at least 1");
  broken([](lower::Workload& w) { w.programs[0].comms[0].transfer.bandwidth = BytesPerSecond(0.0); }, "a bandwidth above zero");
  broken([](lower::Workload& w) { w.ranks[0].program = ProgramId{7}; }, "found program 7");
  broken([](lower::Workload& w) { w.ranks[0].speed = 0.0; }, "a speed above zero");
  broken([](lower::Workload& w) { w.ranks[0].groups.clear(); }, "no group in slot 0");
  broken([](lower::Workload& w) { w.ranks[0].groups[0] = GroupId{5}; }, "found group 5");
  broken([](lower::Workload& w) { w.groups[0].members.pop_back(); }, "only its 1 members");
  broken([](lower::Workload& w) { w.groups[0].members.push_back(RankId{0}); }, "each listed once");
}
