// Runs with merged collectives (lower::Part) in the fast engine, worked out by hand. Times in seconds.
#include <utility>

#include "sim/core/error.h"
#include "tests/unit/engine/run_engine.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

/// A run of kernels (first), collective, kernels ... in turn, on `stream`; collectives are communication `comm`.
void add_run(ProgramBuilder& b, std::uint16_t stream, std::uint32_t comm, const std::vector<double>& times) {
  double sum = 0.0;
  lower::Program& program = b.program();
  lower::Segment segment{.name = NameId{0}, .recompute = {}};
  segment.first_part = static_cast<std::uint32_t>(program.parts.size());
  segment.part_count = static_cast<std::uint32_t>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    program.parts.push_back({.device = Seconds(times[i]), .issue_to_end = Seconds(times[i]), .host = {}, .comm = i % 2 == 0 ? lower::Part::kKernels : comm});
    sum += times[i];
  }
  b.compute(stream, sum);
  program.tasks.back().segment = static_cast<std::uint32_t>(program.segments.size());
  program.segments.push_back(segment);
}

lower::Workload ranks_of(const ProgramBuilder& b, const std::vector<double>& speeds) {
  lower::Workload workload;
  workload.programs.push_back(b.program());
  std::vector<std::uint32_t> all;
  for (const double speed : speeds) {
    all.push_back(static_cast<std::uint32_t>(workload.ranks.size()));
    add_rank(workload, 0, speed);
  }
  add_group(workload, "tp", all);
  add_group(workload, "dp", all);
  return workload;
}

}  // namespace

// 2 of kernels, 1 of communication, 3 of kernels, nothing beside them: 0-6.
TEST_CASE("a merged collective counts as exposed communication") {
  ProgramBuilder b("p", 2.0, 2.0);
  const auto s = b.stream("compute");
  add_run(b, s, b.comm(0, "tp", 1.0), {2.0, 1.0, 3.0});
  const auto t = run_engine("fast", ranks_of(b, {1.0, 1.0}), slow_cluster(2));
  for (const std::uint32_t rank : {0u, 1u}) {
    check_span(t, rank, 0, 0.0, 6.0);
    check_accounting(t, rank, 5.0, 1.0, 0.0, 0.0, 0.0);
  }
}

// A slow GPU computes at half speed and communicates as ever: 4 + 1 + 6.
TEST_CASE("a slow GPU slows the kernels of a run, not its collectives") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  add_run(b, s, b.comm(0, "tp", 1.0), {2.0, 1.0, 3.0});
  const auto t = run_engine("fast", ranks_of(b, {0.5, 0.5}), slow_cluster(2));
  check_span(t, 0, 0, 0.0, 11.0);
  check_accounting(t, 0, 10.0, 1.0, 0.0, 0.0, 0.0);
}

// Kernels 4, collective 2, kernels 4; a transfer of 3 begins at 2, after a copy. Kernels go at 1/2 beside it, it goes at 1/1.5 beside
// them. Kernels have 2 left at 2 and end at 6; the transfer has done 4 / 1.5 and has 1/3 left, which passes at full rate beside the
// collective (6-8): it ends at 6 1/3. The last kernels run from 8 to 12.
TEST_CASE("a transfer beside a run slows its kernels and passes its collectives") {
  ProgramBuilder b("p", 2.0, 1.5);
  const auto compute = b.stream("compute"), copies = b.stream("copies"), dp = b.stream("dp");
  const auto tp_comm = b.comm(0, "tp", 2.0), dp_comm = b.comm(1, "dp", 3.0);
  add_run(b, compute, tp_comm, {4.0, 2.0, 4.0});
  b.copy(copies, 2.0);
  b.collective(dp, dp_comm, {b.last(copies)});
  const auto t = run_engine("fast", ranks_of(b, {1.0, 1.0}), slow_cluster(2));
  check_span(t, 0, 0, 0.0, 12.0);
  check_span(t, 0, 2, 2.0, 6.0 + 1.0 / 3.0);
  check_accounting(t, 1, 10.0, 2.0, 4.0, 0.0, 0.0);
}

// Kernels 2, collective 4, kernels 2; other kernels of 3 begin at 3, when the collective has 3 left. It goes at 1/1.5 beside them, they
// at 1/2 beside it: they do not end before it. 3 / (1 / 1.5) = 4.5: the collective ends at 7.5. The other kernels have then done
// 2.25; both kernels now run at full rate: the other's 0.75 until 8.25, the run's last from 7.5 to 9.5. No exposed communication but
// from 2 to 3.
TEST_CASE("kernels beside a run slow its collectives") {
  ProgramBuilder b("p", 2.0, 1.5);
  const auto compute = b.stream("compute"), copies = b.stream("copies"), side = b.stream("side");
  add_run(b, compute, b.comm(0, "tp", 4.0), {2.0, 4.0, 2.0});
  b.copy(copies, 3.0);
  b.compute(side, 3.0, {b.last(copies)});
  const auto t = run_engine("fast", ranks_of(b, {1.0}), slow_cluster(1));
  check_span(t, 0, 0, 0.0, 9.5);
  check_span(t, 0, 2, 3.0, 8.25);
  check_accounting(t, 0, 8.5, 1.0, 4.5, 0.0, 0.0);
}

TEST_CASE("merged collectives among ranks that differ, or for the reference engine, are refused") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  add_run(b, s, b.comm(0, "tp", 1.0), {2.0, 1.0, 3.0});
  CHECK_THROWS_AS(run_engine("fast", ranks_of(b, {1.0, 0.5}), slow_cluster(2)), InputError);
  CHECK_THROWS_AS(run_engine("simgrid", ranks_of(b, {1.0, 1.0}), slow_cluster(2)), InputError);
  b.program().parts[1].comm = 7;
  CHECK_THROWS_AS(run_engine("fast", ranks_of(b, {1.0, 1.0}), slow_cluster(2)), InputError);
}
