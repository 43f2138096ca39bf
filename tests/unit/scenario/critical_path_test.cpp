#include "sim/scenario/critical_path.h"

#include "tests/support/catch.h"
#include "tests/unit/scenario/small_workload.h"

using namespace sgsim;
using namespace sgsim::scenario;
using lower::TaskKind;
using sgsim::testing::ProgramBuilder;
using sgsim::testing::simulate_all;
using sgsim::testing::workload_of;

namespace {

double time_of(const std::vector<PathTime>& times, PathKind kind, const std::string& name) {
  for (const PathTime& t : times) {
    if (t.kind == kind && t.name == name) return t.time.value();
  }
  return 0.0;
}

void check_chain(const Simulation& s, const std::vector<PathStep>& path) {
  Seconds at;
  for (const PathStep& step : path) {
    CHECK(step.from.value() == Approx(at.value()).margin(1e-9));
    at = step.to;
  }
  CHECK(at.value() == Approx(s.timeline.step_time.value()));
}

}  // namespace

TEST_CASE("critical path: two runs on one GPU") {
  // mm 1 s and add 0.5 s, then mm 2 s: all of it is the path.
  const auto s = simulate_all(workload_of({ProgramBuilder("p").compute("a", {{"mm", 1.0}, {"add", 0.5}}).compute("b", {{"mm", 2.0}}).build()}));
  const auto path = critical_path(s);
  REQUIRE(path.size() == 2);
  check_chain(s, path);
  const auto times = by_name(s, path);
  CHECK(time_of(times, PathKind::compute, "mm") == Approx(3.0));
  CHECK(time_of(times, PathKind::compute, "add") == Approx(0.5));
  CHECK(times.front().name == "mm");
}

TEST_CASE("critical path: an all-reduce waits for its last member") {
  // Rank 0 computes 3 s, rank 1 only 1 s; both reduce for 1 s, then compute 0.5 s. Path: rank 0 for 3 s, the transfer, 0.5 s.
  const auto program = [](const char* name, double before) {
    return ProgramBuilder(name).compute("a", {{"mm", before}}).communicate(TaskKind::collective, "all_reduce dp", 0, 1.0).after(1).compute("b", {{"adam", 0.5}}).build();
  };
  const auto s = simulate_all(workload_of({program("slow", 3.0), program("quick", 1.0)}));
  const auto path = critical_path(s);
  check_chain(s, path);
  REQUIRE(path.size() == 3);
  CHECK(path[0].rank == 0);
  CHECK(path[0].kind == PathKind::compute);
  CHECK(path[1].kind == PathKind::communication);
  const auto times = by_name(s, path);
  CHECK(time_of(times, PathKind::compute, "mm") == Approx(3.0));
  CHECK(time_of(times, PathKind::communication, "all_reduce dp") == Approx(1.0));
  CHECK(time_of(times, PathKind::compute, "adam") == Approx(0.5));
}

TEST_CASE("critical path: overlapped communication is not on it") {
  // The transfer of 1 s runs beside 5 s of computation that does not wait for it.
  const auto program = ProgramBuilder("p").compute("a", {{"mm", 1.0}}).communicate(TaskKind::collective, "all_reduce dp", 0, 1.0).compute("b", {{"mm", 5.0}}).build();
  const auto s = simulate_all(workload_of({program, program}));
  const auto times = by_name(s, critical_path(s));
  CHECK(time_of(times, PathKind::compute, "mm") == Approx(6.0));
  CHECK(time_of(times, PathKind::communication, "all_reduce dp") == 0.0);
}

TEST_CASE("critical path: a host that cannot keep up is the path") {
  // The host needs 2 s to issue each run of 1 s: run k ends at 2 k + 1, so that 2 x 3 = 6 s of host and the last run.
  ProgramBuilder builder("p");
  for (int i = 0; i < 3; ++i) builder.compute("a", {{"add", 1.0}}, 2.0);
  const auto s = simulate_all(workload_of({builder.build()}));
  REQUIRE(s.timeline.step_time.value() == Approx(7.0));
  const auto path = critical_path(s);
  check_chain(s, path);
  const auto times = by_name(s, path);
  CHECK(time_of(times, PathKind::host, "host issues work") == Approx(6.0));
  CHECK(time_of(times, PathKind::compute, "add") == Approx(1.0));
}
