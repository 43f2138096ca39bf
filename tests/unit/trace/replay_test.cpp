// Replay by hand: what the host, the streams and the other ranks make of a few kernels. Times in microseconds in the comments.
#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "sim/replay/replay.h"
#include "sim/replay/report.h"
#include "sim/trace/diff.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

struct Replayed {
  trace::ImportedRun run;
  trace::Matching matching;
  std::vector<trace::Dependencies> dependencies;
  replay::Built built;
  timeline::Timeline timeline;
  replay::Result result;
};

Replayed replay_run(trace::ImportedRun run) {
  Replayed r;
  r.run = std::move(run);
  r.matching = trace::match_collectives(r.run);
  trace::align_clocks(r.run, r.matching);
  for (const trace::RankTrace& rank : r.run.ranks) r.dependencies.push_back(trace::recover_dependencies(r.run, rank));
  r.built = replay::build_programs(r.run, r.matching, r.dependencies);
  r.timeline = engine::run_fast(engine::unfolded(r.built.workload), {.spans_of = {}, .all_spans = true});
  r.result = replay::compare(r.run, r.built, r.timeline);
  return r;
}

// Two launches `apart`, each 10 from launch to start on an idle stream; a gap of 2 on a busy one.
std::vector<std::string> two_kernels(double first, double second, double apart) {
  const double end = 110.0 + first, start = std::max(100.0 + apart + 10.0, end + 2.0);
  return {launch(100, 1), launch(100 + apart, 2), kernel("a", 110, first, 7, 1), kernel("b", start, second, 7, 2)};
}

}  // namespace

TEST_CASE("host-bound and device-bound kernels replay exactly") {
  // Device-bound: a 110-160, b 162-192: from the first issue (100) 92. Host-bound: a 110-115, b issued at 150, 160-165: 65.
  const Replayed device = replay_run(read_text("device_bound", trace_text(two_kernels(50, 30, 20))));
  CHECK(device.result.whole.measured_s == Approx(92e-6));
  CHECK(device.result.whole.simulated_s == Approx(92e-6));
  const Replayed host = replay_run(read_text("host_bound", trace_text(two_kernels(5, 5, 50))));
  CHECK(host.result.whole.measured_s == Approx(65e-6));
  CHECK(host.result.whole.simulated_s == Approx(65e-6));
}

TEST_CASE("replay is no echo: the same launches with other kernels give what the order of things makes of them") {
  // From the host-bound trace (b starts at 160 because it is issued at 150), a made 100 longer: 110-215, then b with the usual gap of 1.5
  // (none was seen): 216.5-221.5; from the first issue 121.5.
  trace::ImportedRun run = read_text("what_if", trace_text(two_kernels(5, 5, 50)));
  Replayed r = replay_run(run);
  lower::Workload changed = r.built.workload;
  lower::Task& a = changed.programs[0].tasks[0];
  a.device += 100.0_us;
  a.issue_to_end += 100.0_us;
  CHECK(engine::run_fast(engine::unfolded(changed), {.spans_of = {}, .all_spans = false}).step_time.value() == Approx(121.5e-6));
}

TEST_CASE("a synchronising call holds the host back until the device is done") {
  // a 110-310; the host waits from 104 to 320 (10 after the end), launches b at 330: 340-345. End at 345: 245 from 100.
  const Replayed r = replay_run(read_text("sync", trace_text({launch(100, 1), kernel("a", 110, 200, 7, 1), call("cudaDeviceSynchronize", 105, 215, 2), launch(330, 3), kernel("b", 340, 5, 7, 3)})));
  REQUIRE(r.dependencies[0].waits.size() == 1);
  CHECK(r.result.whole.simulated_s == Approx(245e-6));
  // a shorter by 100: everything after it comes 100 earlier.
  lower::Workload changed = r.built.workload;
  lower::Task& a = changed.programs[0].tasks[0];
  a.device -= 100.0_us;
  a.issue_to_end -= 100.0_us;
  CHECK(engine::run_fast(engine::unfolded(changed), {.spans_of = {}, .all_spans = false}).step_time.value() == Approx(145e-6));
}

TEST_CASE("a watchdog thread's waits hold nobody back") {
  const Replayed r = replay_run(read_text("watchdog", trace_text({launch(100, 1), kernel("a", 110, 200, 7, 1), call("cudaEventSynchronize", 105, 300, 2, 99), launch(120, 3), kernel("b", 312, 5, 7, 3)})));
  CHECK(r.dependencies[0].waits.empty());
}

TEST_CASE("steps are the profiler's marks, else the optimizer's") {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const double t = 1000.0 * i;
    events.push_back(launch(t + 100, i + 1));
    events.push_back(kernel("a", t + 110, 50, 7, i + 1));
  }
  auto marked = events;
  for (int i = 0; i < 3; ++i) marked.push_back(annotation("ProfilerStep#" + std::to_string(5 + i), 1000.0 * i + 90, 900, i + 1));
  const Replayed a = replay_run(read_text("steps_marked", trace_text(marked)));
  REQUIRE(a.result.steps.size() == 3);
  CHECK(a.result.steps[1].what == "step 6");
  CHECK(a.result.steps[1].measured_s == Approx(1000e-6));
  CHECK(a.result.steps[1].simulated_s == Approx(1000e-6));
  auto optimizer = events;
  for (int i = 0; i < 3; ++i) optimizer.push_back(annotation("Optimizer.step#AdamW.step", 1000.0 * i + 95, 20, i + 1));
  const Replayed b = replay_run(read_text("steps_optimizer", trace_text(optimizer)));
  CHECK(b.result.steps.size() == 3);
  CHECK(count_of(b.built.report, "import.replay.steps_by_optimizer") == 3);
}

TEST_CASE("collectives over ranks: transfer is the least duration, the rest is waiting for the last") {
  // Rank 0 arrives at 110 and waits 40 for rank 1, which arrives at 150; the transfer takes 20: both end at 170.
  const std::string rank0 = trace_text({launch(100, 1), all_reduce(110, 60, 9, 1)}, 0, 2);
  const std::string rank1 = trace_text({launch(100, 1), launch(140, 2), kernel("slow", 110, 35, 7, 1), all_reduce(150, 20, 9, 2)}, 1, 2);
  const Replayed r = replay_run(import::kineto::read({write_trace("pair0", rank0), write_trace("pair1", rank1)}, {}));
  REQUIRE(r.matching.operations.size() == 1);
  CHECK(r.matching.operations[0].transfer == 20000);
  CHECK(r.matching.operations[0].waiting == 40000);
  CHECK(r.matching.operations[0].bytes == 2048.0);
  CHECK(trace::total_transfer(r.matching) == 20000);
  CHECK(r.result.whole.simulated_s == Approx(70e-6));  // 100 to 170
  CHECK(r.timeline.ranks[0].bubble.value() == Approx(40e-6).margin(1e-6));
}

TEST_CASE("clocks: offset and drift come out of the ends of collectives") {
  // Rank 1's clock is 5,000 ahead and gains 1e-3; the ends of 30 collectives, 1,000 apart, are equal in truth.
  std::vector<std::string> a, b;
  for (int i = 0; i < 30; ++i) {
    const double t = 1000.0 * (i + 1), u = t * 1.001 + 5000.0;
    a.push_back(launch(t - 10, i + 1));
    a.push_back(all_reduce(t, 50, 9, i + 1));
    b.push_back(launch(u - 10, i + 1));
    b.push_back(all_reduce(u, 50 * 1.001, 9, i + 1));
  }
  auto run = import::kineto::read({write_trace("clock0", trace_text(a, 0, 2)), write_trace("clock1", trace_text(b, 1, 2))}, {});
  const trace::Matching m = trace::match_collectives(run);
  CHECK(m.raw_skew > 5'000'000);
  CHECK(m.clocks.at(1).drift == Approx(1e-3).epsilon(0.01));
  CHECK(m.skew < 500);
  trace::align_clocks(run, m);
  CHECK(trace::match_collectives(run).raw_skew < 500);
}

TEST_CASE("clocks that no shift betters stay as they are") {
  // Ends differ by 0, 10 and 10: the median shifts by 10, and the first pair is then 10 apart instead.
  std::vector<std::string> a, b;
  for (int i = 0; i < 3; ++i) {
    const double t = 1000.0 * (i + 1);
    for (auto* list : {&a, &b}) list->push_back(launch(t - 10, i + 1));
    a.push_back(all_reduce(t, 50, 9, i + 1));
    b.push_back(all_reduce(t, i == 0 ? 50 : 60, 9, i + 1));
  }
  const auto run = import::kineto::read({write_trace("steady0", trace_text(a, 0, 2)), write_trace("steady1", trace_text(b, 1, 2))}, {});
  const trace::Matching m = trace::match_collectives(run);
  CHECK(m.raw_skew == 10'000);
  CHECK(m.skew == m.raw_skew);
  CHECK(m.clocks.at(1).offset == 0);
}

TEST_CASE("event edges: a communicator waits for the stream it was called from, and the observed wait for it is found") {
  // a on stream 7: 110-160; the all-reduce, issued at 120, starts at 162; b on stream 7, issued at 140 after a wait, starts at 214 when it ended (212).
  const auto run = read_text("edges", trace_text({launch(100, 1), call("cudaEventRecord", 106, 1, 90), call("cudaStreamWaitEvent", 108, 1, 91), launch(120, 2), call("cudaStreamWaitEvent", 130, 1, 92), launch(140, 3),
                                                  kernel("a", 110, 50, 7, 1), all_reduce(162, 50, 9, 2), kernel("b", 214, 10, 7, 3)}));
  const auto d = trace::recover_dependencies(run, run.ranks.at(0));
  REQUIRE(d.edges.size() == 2);
  CHECK(d.edges[0].from == 0);
  CHECK(d.edges[0].to == 1);
  CHECK(d.edges[0].source == trace::EdgeSource::collective);
  CHECK(d.edges[1].from == 1);
  CHECK(d.edges[1].to == 2);
  CHECK(d.edges[1].source == trace::EdgeSource::observed);
}

TEST_CASE("event edges that the file states are taken as they are") {
  const std::string sync = R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":9,"ts":130,"dur":1,"args":{"stream":9,"correlation":92,"device":0,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":91}})";
  const auto run = read_text("stated", trace_text({launch(100, 1), call("cudaEventRecord", 106, 1, 91), call("cudaStreamWaitEvent", 130, 1, 92), launch(140, 2), kernel("a", 110, 50, 7, 1), kernel("b", 300, 10, 9, 2), sync}));
  const auto d = trace::recover_dependencies(run, run.ranks.at(0));
  REQUIRE(d.edges.size() == 1);
  CHECK(d.edges[0].source == trace::EdgeSource::stated);
}

TEST_CASE("a chain of 100,000 kernels needs no recursion") {
  std::vector<std::string> events;
  for (int i = 0; i < 100'000; ++i) {
    events.push_back(launch(100 + 5.0 * i, i + 1));
    events.push_back(kernel("k", 110 + 8.0 * i, 6, 7, i + 1));
  }
  const Replayed r = replay_run(read_text("chain", trace_text(events)));
  // 10 to the first start, then 8 a kernel (6 and a gap of 2), the last without its gap.
  CHECK(r.result.whole.measured_s == Approx((10 + 8.0 * 99'999 + 6) * 1e-6));
  CHECK(std::abs(r.result.whole.error().value()) < 1e-3);
}

TEST_CASE("a trace without device work is refused") {
  const auto run = read_text("host_only", trace_text({annotation("x", 1, 2, 1)}));
  CHECK_THROWS_AS(replay_run(run), InputError);
}

TEST_CASE("kernels stamped before their launches: no error where nothing positive was measured, and it is counted") {
  // Issued at 1,000; a 500-550: measured -450.
  const Replayed r = replay_run(read_text("before_launch", trace_text({launch(1000, 1), kernel("a", 500, 50, 7, 1)})));
  CHECK(r.result.whole.measured_s == Approx(-450e-6));
  CHECK_FALSE(r.result.whole.error().has_value());
  CHECK(r.result.without_error == 1);
  CHECK(r.result.compared == 0);
  CHECK_FALSE(r.result.within(1.0));
  CHECK(count_of(r.dependencies[0].report, "import.dependencies.kernels_begin_before_launch") == 1);
  CHECK(replay::text_report(r.result, r.built, r.timeline).find("0.00 %") == std::string::npos);
  const Replayed sound = replay_run(read_text("after_launch", trace_text({launch(100, 1), kernel("a", 110, 50, 7, 1)})));
  CHECK(sound.result.within(0.01));
  CHECK(count_of(sound.dependencies[0].report, "import.dependencies.kernels_begin_before_launch") == 0);
}

TEST_CASE("a marked step without device operations is in neither a replay nor a diff") {
  // Step 1 has a kernel of 50, step 2 none: a mean step is 50, not 25.
  const auto run = read_text("empty_step", trace_text({annotation("ProfilerStep#1", 90, 900, 1), annotation("ProfilerStep#2", 1000, 900, 2), launch(100, 1), kernel("a", 110, 50, 7, 1)}));
  const Replayed r = replay_run(run);
  REQUIRE(r.result.steps.size() == 1);
  CHECK(count_of(r.built.report, trace::kEmptyLeftOut) == 1);
  const trace::Diff diff = trace::diff_runs(run, run);
  CHECK(diff.steps_a == 1);
  CHECK(diff.empty_b == 1);
  CHECK(diff.step_a == Approx(50e-6));
  CHECK(trace::diff_text(diff, 5).find("A: 1  import.steps.empty_left_out") != std::string::npos);
}
