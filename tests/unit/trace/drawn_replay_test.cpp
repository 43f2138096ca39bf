// Written timelines of a replay: kernels with their own durations, steps marked, ranks apart; and what a comparison with the captured run says. Times in microseconds.
#include "sim/engine/engine.h"
#include "sim/import/own_timeline/own_timeline.h"
#include "sim/replay/account.h"
#include "sim/replay/report.h"
#include "sim/trace/diff.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

struct Drawn {
  trace::ImportedRun run;      // as captured
  replay::Built built;
  timeline::Timeline timeline;
  trace::ImportedRun again;    // the written timeline, read
};

Drawn draw(const std::string& name, trace::ImportedRun run) {
  Drawn d;
  d.run = std::move(run);
  const trace::Matching matching = trace::match_collectives(d.run);
  std::vector<trace::Dependencies> dependencies;
  for (const trace::RankTrace& rank : d.run.ranks) dependencies.push_back(trace::recover_dependencies(d.run, rank));
  d.built = replay::build_programs(d.run, matching, dependencies);
  d.timeline = engine::run_fast(engine::unfolded(d.built.workload), {.spans_of = {}, .all_spans = true});
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/drawn_replay_" + name + ".json";
  replay::write_trace({.run = d.run, .workload = d.built.workload, .notes = d.built.notes, .rescaled = false, .sizes = ""}, d.timeline, path);
  d.again = import::own_timeline::read(path, {});
  return d;
}

std::string copy(double ts, double dur, int correlation) {
  return fmt::format(R"j({{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":{:.3f},"dur":{:.3f},"args":{{"device":0,"stream":7,"correlation":{},"bytes":4096}}}})j", ts, dur, correlation);
}

// Two steps of two ranks: a copy, two kernels that overlap by 3 on their stream, and an all-reduce that rank 0 waits 40 for.
std::vector<std::string> two_steps(double late) {
  std::vector<std::string> events;
  for (int s = 0; s < 2; ++s) {
    const double t = 100.0 + 1000.0 * s;
    const int id = 10 * s;
    events.push_back(annotation("ProfilerStep#" + std::to_string(4 + s), t - 10, 900, 900 + s));
    events.push_back(call("cudaMemcpyAsync", t, 4, id + 1));
    for (int i = 2; i <= 4; ++i) events.push_back(launch(t + 10.0 * i, id + i));
    events.push_back(copy(t + 12, 8, id + 1));
    events.push_back(kernel("a", t + 40, 50 + late, 7, id + 2));
    events.push_back(kernel("b", t + 87 + late, 30, 7, id + 3));
    events.push_back(all_reduce(t + 119 + late, 60 - late, 9, id + 4));
  }
  return events;
}

double largest_change(const std::vector<trace::DiffRow>& rows) {
  double most = 0.0;
  for (const trace::DiffRow& row : rows) most = std::max(most, std::abs(row.change()));
  return most;
}

}  // namespace

TEST_CASE("a written replay holds each kernel with its own duration, per rank, and the steps marked") {
  const Drawn d = draw("two_ranks", import::kineto::read({write_trace("drawn0", trace_text(two_steps(0), 0, 2)), write_trace("drawn1", trace_text(two_steps(40), 1, 2))}, {}));
  REQUIRE(d.again.format == "own_timeline");
  REQUIRE(d.again.ranks.size() == 2);
  for (std::size_t r = 0; r < 2; ++r) {
    const trace::RankTrace &captured = d.run.ranks[r], &again = d.again.ranks[r];
    CHECK(again.rank == static_cast<std::int32_t>(r));
    REQUIRE(again.steps.size() == 2);
    CHECK(again.steps[0].number == 4);
    CHECK(again.steps[1].number == 5);
    REQUIRE(again.device_ops.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
      INFO("rank " << r << ", operation " << i);
      CHECK(d.again.strings.at(again.device_ops[i].name) == d.run.strings.at(captured.device_ops[i].name));
      CHECK(again.device_ops[i].kind == captured.device_ops[i].kind);
      const std::uint32_t c = again.device_ops[i].collective;
      const trace::Nanoseconds waiting = c == trace::kNone ? 0 : again.collectives[c].waiting;
      CHECK(std::abs(again.device_ops[i].duration + waiting - captured.device_ops[i].duration) <= (c == trace::kNone ? 1 : 3'000));  // launch latency moves the arrival
    }
    CHECK(count_of(d.again.report, "import.own_timeline.communication_with_waiting") == 0);
  }
  // Rank 0 waits 40 for rank 1, whose transfer of 20 is the least.
  CHECK(static_cast<double>(d.again.ranks[0].collectives[0].waiting) == Approx(40'000).margin(3'000));
  CHECK(d.again.ranks[0].device_ops[d.again.ranks[0].collectives[0].device_op].duration == 20'000);
  CHECK(d.again.ranks[0].collectives[0].bytes == 2048.0);
}

TEST_CASE("a run against its own replay: no kernel is longer, more or fewer") {
  const Drawn d = draw("against_itself", import::kineto::read({write_trace("itself0", trace_text(two_steps(0), 0, 2)), write_trace("itself1", trace_text(two_steps(40), 1, 2))}, {}));
  const trace::Diff diff = trace::diff_runs(d.run, d.again);
  CHECK(diff.steps_b == 2);
  CHECK(diff.ranks_b == 2);
  CHECK(diff.step_b == Approx(diff.step_a).epsilon(0.02));
  for (const auto* rows : {&diff.by_stream, &diff.by_layer, &diff.by_name, &diff.by_rank}) {
    CHECK(largest_change(*rows) < 2e-9);
    for (const trace::DiffRow& row : *rows) CHECK(row.operations_a == Approx(row.operations_b));
  }
  for (const trace::DiffRow& row : diff.by_kind) {
    INFO(row.key);
    CHECK(std::abs(row.change()) < (row.key == "waiting for others" ? 3e-6 : 2e-9));
  }
}

TEST_CASE("one captured rank of two: what is not told apart stays together, on both sides of a comparison") {
  const Drawn d = draw("one_rank", import::kineto::read({write_trace("alone0", trace_text(two_steps(0), 0, 2))}, {}));
  CHECK(count_of(d.again.report, "import.own_timeline.communication_with_waiting") == 2);
  const trace::Diff diff = trace::diff_runs(d.run, d.again);
  CHECK_FALSE(diff.waiting_apart_a);
  CHECK_FALSE(diff.waiting_apart_b);
  CHECK(largest_change(diff.by_kind) < 2e-9);
}

TEST_CASE("accounts of a step add up: busy by kernels' own times, launch gaps and the host apart") {
  const auto account = [](const std::string& name, const std::vector<std::string>& events) {
    const Drawn d = draw(name, read_text("account_" + name, trace_text(events)));
    return replay::mean(replay::accounts(d.built.workload.programs[0], d.built.notes[0], replay::spans_of(d.timeline, 0)));
  };
  // Queued: issued at 100 and 120, a 110-160, b 162-192: 10 for the first launch, 80 busy, a gap of 2.
  const replay::Account queued = account("queued", {launch(100, 1), launch(120, 2), kernel("a", 110, 50, 7, 1), kernel("b", 162, 30, 7, 2)});
  CHECK(queued.step_s == Approx(92e-6));
  CHECK(queued.busy_s == Approx(80e-6));
  CHECK(queued.gaps_s == Approx(2e-6));
  CHECK(queued.host_s == Approx(10e-6));
  // Late: b issued at 150 only, 160-165, behind a 110-115: 65, of which 10 busy.
  const replay::Account late = account("late", {launch(100, 1), launch(150, 2), kernel("a", 110, 5, 7, 1), kernel("b", 160, 5, 7, 2)});
  CHECK(late.busy_s == Approx(10e-6));
  CHECK(late.host_s == Approx(55e-6));
  CHECK(late.gaps_s == Approx(0.0).margin(1e-12));
  // A communication beside a kernel is hidden but for its end: a 110-160, all-reduce 130-180.
  const replay::Account beside = account("beside", {launch(100, 1), launch(120, 2), kernel("a", 110, 50, 7, 1), all_reduce(130, 50, 9, 2)});
  CHECK(beside.busy_s == Approx(50e-6));
  CHECK(beside.exposed_s == Approx(20e-6).margin(2e-6));
  CHECK(beside.busy_s + beside.exposed_s + beside.waiting_s + beside.gaps_s + beside.host_s == Approx(beside.step_s));
}

TEST_CASE("what binds a rescaled step is said in words") {
  const replay::Account host_bound{.step_s = 0.6, .busy_s = 0.2, .exposed_s = 0.05, .waiting_s = 0.0, .gaps_s = 0.0, .host_s = 0.35}, fed{.step_s = 0.25, .busy_s = 0.2, .exposed_s = 0.05};
  const std::string text = replay::text_of(replay::Sides{.replayed = std::nullopt, .captured = host_bound, .wanted = host_bound, .fed = fed});
  CHECK(text.find("58 % of the wanted step") != std::string::npos);
  CHECK(text.find("hardly changes") != std::string::npos);
  CHECK(text.find("CUDA graphs") != std::string::npos);
  CHECK(text.find("250.000") != std::string::npos);
  CHECK(replay::text_of(replay::Sides{.replayed = std::nullopt, .captured = host_bound, .wanted = fed, .fed = fed}).find("CUDA graphs") == std::string::npos);
}

TEST_CASE("operations beside their stream are read back as that stream's, and marks of steps are no stream") {
  // b outlasts c and d of its stream
  const Drawn d = draw("beside", read_text("drawn_beside", trace_text({annotation("ProfilerStep#4", 90, 400, 900), launch(100, 1), launch(110, 2), launch(150, 3), launch(200, 4), kernel("a", 110, 5, 7, 1), kernel("b", 120, 200, 7, 2), kernel("c", 160, 20, 7, 3),
                                                                          kernel("d", 210, 20, 7, 4)})));
  CHECK(count_of(d.built.report, "import.replay.overlaps_of_several_kept") == 1);
  REQUIRE(d.again.ranks.size() == 1);
  CHECK(d.again.ranks[0].streams.size() == 1);
  CHECK(d.again.ranks[0].steps.size() == 1);
  REQUIRE(d.again.ranks[0].device_ops.size() == 4);
  CHECK(d.again.ranks[0].device_ops[1].duration == 200'000);
  const trace::Diff diff = trace::diff_runs(d.run, d.again);
  CHECK(diff.by_stream.size() == 1);
  CHECK(largest_change(diff.by_stream) < 1e-9);
}

TEST_CASE("one communicator that is matched over ranks does not tell the waiting of another apart") {
  const auto events = [](double late, int rank) {
    std::vector<std::string> list = two_steps(late);
    list.push_back(launch(300, 50));
    list.push_back(kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 310, 40, 11, 50,
                          fmt::format(R"(,"Collective name":"allreduce","In msg nelems":64,"Out msg nelems":64,"Group size":2,"dtype":"BFloat16","Process Group Name":"{}","Process Group Ranks":"[{}, {}]")", 8 + rank, rank, 7 + rank)));
    return list;
  };
  const auto run = import::kineto::read({write_trace("partly0", trace_text(events(0, 0), 0, 16)), write_trace("partly1", trace_text(events(40, 1), 1, 16))}, {});
  REQUIRE(run.groups.size() == 3);
  CHECK_FALSE(trace::diff_runs(run, run).waiting_apart_a);
  const auto whole = import::kineto::read({write_trace("partly2", trace_text(two_steps(0), 0, 2)), write_trace("partly3", trace_text(two_steps(40), 1, 2))}, {});
  CHECK(trace::diff_runs(whole, whole).waiting_apart_a);
}
