// Operations that outlast several later ones of their stream. Times in microseconds.
#include "sim/engine/engine.h"
#include "sim/replay/overlaps.h"
#include "sim/replay/replay.h"
#include "sim/trace/recover.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

/// a 110-280 overruns b 170-220 and c 230-275, each issued 10 before it starts; d, issued at 235, starts when a ends.
trace::ImportedRun overlapping() {
  return read_text("overlapping", trace_text({launch(100, 1), launch(160, 2), launch(220, 3), launch(235, 4), kernel("a", 110, 170, 7, 1), kernel("b", 170, 50, 7, 2), kernel("c", 230, 45, 7, 3), kernel("d", 281, 20, 7, 4)}));
}

struct Simulated {
  replay::Built built;
  timeline::Timeline timeline;
  replay::Result result;
};

Simulated simulate(const trace::ImportedRun& run, std::uint32_t slower_task = replay::kNoTask, Seconds by = {}) {
  Simulated s;
  const auto d = trace::recover_dependencies(run, run.ranks.at(0));
  s.built = replay::build_programs(run, trace::match_collectives(run), {d});
  if (slower_task != replay::kNoTask) {
    lower::Task& task = s.built.workload.programs[0].tasks[slower_task];
    task.device += by, task.issue_to_end += by;
  }
  s.timeline = engine::run_fast(engine::unfolded(s.built.workload), {.spans_of = {}, .all_spans = true});
  s.result = replay::compare(run, s.built, s.timeline);
  return s;
}

double end_of(const Simulated& s, std::uint32_t device_op) {
  for (const timeline::Span& span : s.timeline.spans) {
    if (span.task == s.built.task_of[0][device_op]) return span.end.value() * 1e6 + 100.0;  // from the first issue
  }
  return -1.0;
}

}  // namespace

TEST_CASE("an operation that outlasts several later ones of its stream runs beside them, as measured") {
  const auto run = overlapping();
  const Simulated s = simulate(run);
  CHECK(count_of(s.built.report, "import.replay.overlaps_of_several_kept") == 1);
  CHECK(end_of(s, 0) == Approx(280));
  CHECK(end_of(s, 1) == Approx(220));
  CHECK(end_of(s, 2) == Approx(275));
  CHECK(end_of(s, 3) == Approx(301));
  CHECK(s.result.worst_error < 1e-6);
}

TEST_CASE("what began after the end of such an operation still waits for it") {
  // a 30 longer: b and c as before, d 30 later.
  const auto run = overlapping();
  const Simulated s = simulate(run, simulate(run).built.task_of[0][0], 30.0_us);
  CHECK(end_of(s, 0) == Approx(310));
  CHECK(end_of(s, 2) == Approx(275));
  CHECK(end_of(s, 3) == Approx(331));
}

TEST_CASE("when an operation began beside another of its stream says nothing about the gaps of others") {
  // All were issued at 100 to 106. a outlasts b, which begins 12 after "before" ended; the gaps of c, d and e are 1, and stay 1.
  const auto run = read_text("overlap_gaps", trace_text({launch(100, 1), launch(101, 2), launch(102, 3), launch(103, 4), launch(104, 5), launch(105, 6), kernel("before", 110, 50, 7, 1), kernel("a", 161, 100, 7, 2), kernel("b", 172, 20, 7, 3),
                                                         kernel("c", 262, 20, 7, 4), kernel("d", 283, 20, 7, 5), kernel("e", 304, 20, 7, 6)}));
  const Simulated s = simulate(run);
  for (const auto& [op, end] : {std::pair(1U, 261.0), {2U, 192.0}, {3U, 282.0}, {4U, 303.0}, {5U, 324.0}}) CHECK(end_of(s, op) == Approx(end).margin(0.01));
}

TEST_CASE("the host waits for it too; a stream without such operations stays as it is") {
  auto events = std::vector<std::string>{launch(100, 1), launch(160, 2), kernel("a", 110, 170, 7, 1), kernel("b", 170, 50, 7, 2), call("cudaDeviceSynchronize", 170, 120, 3), launch(300, 4), kernel("c", 310, 5, 7, 4)};
  const auto run = read_text("overlap_sync", trace_text(events));
  const Simulated s = simulate(run);
  CHECK(end_of(s, 2) == Approx(315));
  CHECK(end_of(simulate(run, s.built.task_of[0][0], 30.0_us), 2) == Approx(345));
  const auto sound = read_text("overlap_next_only", trace_text({launch(100, 1), launch(105, 2), kernel("a", 110, 50, 7, 1), kernel("b", 150, 50, 7, 2)}));
  const auto d = trace::recover_dependencies(sound, sound.ranks.at(0));
  const replay::Overlaps overlaps = replay::separate_overlaps(sound.ranks[0], d);
  CHECK(overlaps.moved == 0);
  CHECK(overlaps.dependencies.stream_before == d.stream_before);
}
