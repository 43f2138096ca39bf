// Pipeline schedules against their closed forms, by both engines.
#include <string>
#include <utility>

#include "tests/unit/engine/run_engine.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

constexpr double kForward = 1.0, kBackward = 2.0;

/// One rank a stage. `order(stage)` names what it runs: 'F' or 'B' with its micro-batch. Transfers take no time.
template <class Order>
lower::Workload pipeline(int stages, const Order& order) {
  lower::Workload w;
  for (int s = 0; s < stages; ++s) {
    ProgramBuilder b("stage " + std::to_string(s));
    const auto compute = b.stream("compute");
    const auto in = b.stream("forward in"), out = b.stream("forward out"), back_in = b.stream("backward in"), back_out = b.stream("backward out");
    const bool first = s == 0, last = s + 1 == stages;
    std::uint16_t slot = 0;
    const auto comm = [&](bool used) { return used ? b.comm(slot++, "boundary", 0.0, 0.0, 1.0, false, graph::CollectiveOp::send_receive) : 0u; };
    const auto from_before = comm(!first), to_before = comm(!first), to_next = comm(!last), from_next = comm(!last);
    for (const auto& [what, m] : order(s)) {
      b.micro_batch(m);
      const bool forward = what == 'F';
      if (forward ? !first : !last) b.communicate(TaskKind::receive, forward ? in : back_in, forward ? from_before : from_next);
      b.compute(compute, forward ? kForward : kBackward, {b.last(forward ? in : back_in)});
      if (forward ? !last : !first) b.communicate(TaskKind::send, forward ? out : back_out, forward ? to_next : to_before, {b.last(compute)});
    }
    w.programs.push_back(b.program());
    add_rank(w, static_cast<std::uint32_t>(s));
  }
  for (std::uint32_t s = 0; s + 1 < static_cast<std::uint32_t>(stages); ++s) {
    add_group(w, "forward", {s, s + 1});
    add_group(w, "backward", {s + 1, s});
  }
  return w;
}

using Work = std::vector<std::pair<char, int>>;

Work gpipe(int m) {
  Work work;
  for (int i = 0; i < m; ++i) work.emplace_back('F', i);
  for (int i = 0; i < m; ++i) work.emplace_back('B', i);
  return work;
}

Work one_f_one_b(int stage, int stages, int m) {
  Work work;
  const int warmup = std::min(stages - stage - 1, m);
  for (int i = 0; i < warmup; ++i) work.emplace_back('F', i);
  for (int i = warmup; i < m; ++i) {
    work.emplace_back('F', i);
    work.emplace_back('B', i - warmup);
  }
  for (int i = m - warmup; i < m; ++i) work.emplace_back('B', i);
  return work;
}

/// Start of computation `n` of a rank, in program order.
double start_of(const timeline::Timeline& t, const lower::Workload& w, std::uint32_t rank, int n) {
  const auto& tasks = w.programs[rank].tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].kind == TaskKind::compute && n-- == 0) return span_of(t, rank, i).start.value();
  }
  return -1.0;
}

}  // namespace

// GPipe, p = 4 stages, m = 6 micro-batches, forward 1, backward 2: (m + p - 1)(1 + 2) = 27; every stage computes m * 3 =
// 18 and idles (p - 1) * 3 = 9: the bubble is (p - 1) / (m + p - 1) = 1/3 of the step.
TEST_CASE("GPipe idles (p - 1) / (m + p - 1) of the step") {
  const int p = 4, m = 6;
  const lower::Workload w = pipeline(p, [&](int) { return gpipe(m); });
  for (const char* engine : {"fast", "simgrid"}) {
    const auto t = run_engine(engine, w, slow_cluster(1, p));
    CHECK(t.step_time.value() == Approx(27.0));
    for (std::uint32_t r = 0; r < 4; ++r) {
      check_accounting(t, r, 18.0, 0.0, 0.0, 9.0, 0.0);
      CHECK(t.ranks[r].bubble / t.step_time == Approx(static_cast<double>(p - 1) / (m + p - 1)));
    }
  }
}

// 1F1B, p = 2, m = 4, forward 1, backward 2. Stage 0 runs F0 F1 B0 F2 B1 F3 B2 B3, stage 1 F0 B0 F1 B1 F2 B2 F3 B3.
//   stage 0: F0 0-1, F1 1-2, B0 (stage 1's B0 ends at 4) 4-6, F2 6-7, B1 (7) 7-9, F3 9-10, B2 (10) 10-12, B3 (13) 13-15
//   stage 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7, F2 (7) 7-8, B2 8-10, F3 (10) 10-11, B3 11-13
TEST_CASE("1F1B with two stages and four micro-batches, task by task") {
  const lower::Workload w = pipeline(2, [](int s) { return one_f_one_b(s, 2, 4); });
  const double expected[2][8] = {{0, 1, 4, 6, 7, 9, 10, 13}, {1, 2, 4, 5, 7, 8, 10, 11}};
  for (const char* engine : {"fast", "simgrid"}) {
    const auto t = run_engine(engine, w, slow_cluster(1, 2));
    for (std::uint32_t r = 0; r < 2; ++r) {
      for (int n = 0; n < 8; ++n) {
        INFO(engine << ", stage " << r << ", computation " << n);
        CHECK(start_of(t, w, r, n) == Approx(expected[r][n]).margin(1e-12));
      }
      check_accounting(t, r, 12.0, 0.0, 0.0, 3.0, 0.0);
    }
    CHECK(t.step_time.value() == Approx(15.0));
  }
}

// 1F1B has GPipe's length: (m + p - 1)(f + b). p = 4, m = 8: 11 * 3 = 33.
TEST_CASE("1F1B takes as long as GPipe") {
  const lower::Workload w = pipeline(4, [](int s) { return one_f_one_b(s, 4, 8); });
  CHECK(run_engine("fast", w, slow_cluster(1, 4)).step_time.value() == Approx(33.0));
}
