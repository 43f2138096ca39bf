// Small systems worked out by hand, run by both engines. Times in seconds; the derivation stands above each case.
#include "tests/unit/engine/run_engine.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

const auto kEngines = {"fast", "simgrid"};

lower::Workload one_rank(const ProgramBuilder& program) {
  lower::Workload workload;
  workload.programs.push_back(program.program());
  add_rank(workload, 0);
  return workload;
}

}  // namespace

// The host needs 1 to issue and 0.5 until the device begins: the kernel runs from 1.5 to 3.5.
TEST_CASE("one kernel starts when the host has issued it") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  b.host(1.0, 0.5);
  b.compute(s, 2.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 0, 1.5, 3.5);
    CHECK(t.step_time.value() == Approx(3.5));
    CHECK(t.tasks == 1);
    check_accounting(t, 0, 2.0, 0.0, 0.0, 0.0, 1.5);
  }
}

// Second kernel on the stream of the first: 0-2, 2-5.
TEST_CASE("two kernels of one stream run one after the other") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  b.compute(s, 2.0);
  b.compute(s, 3.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 0, 0.0, 2.0);
    check_span(t, 0, 1, 2.0, 5.0);
  }
}

// On two streams with a dependency: the same. A dependency on an earlier position does not wait for later tasks: the
// third kernel waits for the first only, so it runs 2-3 beside the second's 2-5.
TEST_CASE("a dependency waits for a position, not for the whole stream") {
  ProgramBuilder b("p");
  const auto s = b.stream("a");
  const auto o = b.stream("b");
  b.compute(s, 2.0);
  const auto first = b.last(s);
  b.compute(s, 3.0);
  b.compute(o, 1.0, {first});
  b.compute(o, 1.0, {b.last(s)});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 1, 2.0, 5.0);
    check_span(t, 0, 2, 2.0, 3.0);
    check_span(t, 0, 3, 5.0, 6.0);
    check_accounting(t, 0, 6.0, 0.0, 0.0, 0.0, 0.0);
  }
}

// Two streams, no dependency: both start at 0; together some computation runs for 3.
TEST_CASE("independent kernels on two streams of one GPU run at once") {
  ProgramBuilder b("p");
  const auto s = b.stream("a");
  const auto o = b.stream("b");
  b.compute(s, 2.0);
  b.compute(o, 3.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 0, 0.0, 2.0);
    check_span(t, 0, 1, 0.0, 3.0);
    check_accounting(t, 0, 3.0, 0.0, 0.0, 0.0, 0.0);
  }
}

// Rank 0 computes 2, rank 1 computes 3, then 20 bytes at 10 bytes/s after 0.5 latency: 3 to 5.5 for both.
// Rank 0 waits for the other from 2 to 3.
TEST_CASE("a collective starts when its last member arrives and ends for all at once") {
  lower::Workload w;
  for (const double work : {2.0, 3.0}) {
    ProgramBuilder b("p");
    const auto s = b.stream("compute");
    const auto c = b.stream("comm");
    b.compute(s, work);
    b.collective(c, b.comm(0, "all_reduce dp", 0.5, 20.0, 10.0, true), {b.last(s)});
    b.compute(s, 1.0, {b.last(c)});
    w.programs.push_back(b.program());
    add_rank(w, static_cast<std::uint32_t>(w.ranks.size()));
  }
  add_group(w, "dp", {0, 1});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(2));
    check_span(t, 0, 1, 3.0, 5.5);
    check_span(t, 1, 1, 3.0, 5.5);
    CHECK(span_of(t, 0, 1).arrival.value() == Approx(2.0));
    check_span(t, 0, 2, 5.5, 6.5);
    check_accounting(t, 0, 3.0, 2.5, 0.0, 1.0, 0.0);
    check_accounting(t, 1, 4.0, 2.5, 0.0, 0.0, 0.0);
  }
}

// Ring all-reduce of S bytes over n = 4 ranks, one a node, links of B: 2 (n - 1) / n S / B + 2 (n - 1) alpha.
// S = 40, B = 10, alpha = 0.25: 6 / 4 * 40 / 10 + 6 * 0.25 = 6 + 1.5 = 7.5.
TEST_CASE("ring all-reduce takes its closed form") {
  const double n = 4, size = 40.0, bandwidth = 10.0, alpha = 0.25;
  ProgramBuilder b("p");
  const auto s = b.stream("comm");
  b.collective(s, b.comm(0, "all_reduce dp", 2 * (n - 1) * alpha, 2 * (n - 1) / n * size, bandwidth, true));
  lower::Workload w;
  w.programs.push_back(b.program());
  for (int r = 0; r < 4; ++r) add_rank(w, 0);
  add_group(w, "dp", {0, 1, 2, 3});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(4));
    for (std::uint32_t r = 0; r < 4; ++r) check_span(t, r, 0, 0.0, 7.5);
  }
}

// A transfer of 4 beside 3 of computation on both ranks, both from 1: exposed from 4 to 5.
TEST_CASE("a transfer beside computation is exposed only where no computation runs") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  const auto c = b.stream("comm");
  b.compute(s, 1.0);
  b.collective(c, b.comm(0, "all_reduce dp", 0.0, 40.0, 10.0, true), {b.last(s)});
  b.compute(s, 3.0);
  b.compute(s, 1.0, {b.last(c)});
  lower::Workload w;
  w.programs.push_back(b.program());
  add_rank(w, 0);
  add_rank(w, 0);
  add_group(w, "dp", {0, 1});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(2));
    check_span(t, 0, 2, 1.0, 4.0);
    check_span(t, 0, 3, 5.0, 6.0);
    check_accounting(t, 0, 5.0, 1.0, 3.0, 0.0, 0.0);
  }
}

// The same with slowdowns: computation at 1/1.5 while the transfer runs, the transfer at 1/1.25 while computation runs.
// From 1 both run. The computation alone needs 3 * 1.5 = 4.5 if the transfer lasts as long: by then the transfer has done
// 4.5 / 1.25 = 3.6 of its 4, so it has. Computation 1-5.5; the transfer's last 0.4 alone: 5.5-5.9.
TEST_CASE("computation and transfers slow each other while they overlap") {
  ProgramBuilder b("p", 1.5, 1.25);
  const auto s = b.stream("compute");
  const auto c = b.stream("comm");
  b.compute(s, 1.0);
  b.collective(c, b.comm(0, "all_reduce dp", 1.0, 30.0, 10.0, true), {b.last(s)});
  b.compute(s, 3.0);
  b.compute(s, 1.0, {b.last(c)});
  lower::Workload w;
  w.programs.push_back(b.program());
  add_rank(w, 0);
  add_rank(w, 0);
  add_group(w, "dp", {0, 1});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(2));
    check_span(t, 0, 2, 1.0, 5.5);
    check_span(t, 0, 1, 1.0, 5.9);
    check_span(t, 0, 3, 5.9, 6.9);
    check_accounting(t, 0, 6.5, 0.4, 4.5, 0.0, 0.0);
  }
}

// Only rank 0 computes beside the transfer (2 of work, from 0): it runs at 1/2 while the transfer lasts. The transfer of 3
// is slowed by 1.5 while any member computes. Computation: 4 in all if the transfer lasts: after 4 the transfer has done
// 4 / 1.5 = 2.667, so it does; the rest takes 0.333: the transfer ends at 4.333 for both.
TEST_CASE("a transfer is slowed while any of its members computes") {
  lower::Workload w;
  for (const double work : {2.0, 0.0}) {
    ProgramBuilder b("p", 2.0, 1.5);
    const auto s = b.stream("compute");
    const auto c = b.stream("comm");
    b.collective(c, b.comm(0, "all_reduce tp", 3.0));
    if (work > 0.0) b.compute(s, work);
    w.programs.push_back(b.program());
    add_rank(w, static_cast<std::uint32_t>(w.ranks.size()));
  }
  add_group(w, "tp", {0, 1});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(1, 2));
    check_span(t, 0, 1, 0.0, 4.0);
    check_span(t, 0, 0, 0.0, 4.0 + 1.0 / 3.0);
    check_span(t, 1, 0, 0.0, 4.0 + 1.0 / 3.0);
  }
}

// A GPU at half speed takes twice as long for computation, not for copies or transfers.
TEST_CASE("a slow GPU computes slower and copies as fast") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  b.compute(s, 2.0);
  b.copy(s, 1.0);
  lower::Workload w = one_rank(b);
  w.ranks[0].speed = 0.5;
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(1));
    check_span(t, 0, 0, 0.0, 4.0);
    check_span(t, 0, 1, 4.0, 5.0);
    check_accounting(t, 0, 4.0, 0.0, 0.0, 0.0, 0.0);  // the copy is neither computation nor communication nor idle
  }
}

// Kernels of 1 that the host needs 3 each to issue, launch latency 0.5: kernel k (from 0) starts at 3 (k + 1) + 0.5.
TEST_CASE("a host that is slower than the device makes the step") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  b.host(3.0, 0.5);
  for (int k = 0; k < 4; ++k) b.compute(s, 1.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    for (std::uint32_t k = 0; k < 4; ++k) check_span(t, 0, k, 3.0 * (k + 1) + 0.5, 3.0 * (k + 1) + 1.5);
    check_accounting(t, 0, 4.0, 0.0, 0.0, 0.0, 9.5);
  }
}

// A merged run ends at max(S + device, H + issue_to_end). Run of 4 kernels of 1, host 0.5 each: alone, issue_to_end is
// 0.5 + 4 = 4.5 and device 4. After a first kernel of 10 (issued by 0.5, 0.5-10.5): S = 10.5, H = 0.5: max(14.5, 5) = 14.5.
// With a host that needs 20 before it (a kernel on another stream): H = 20.5: max(14.5, 25) = 25.
TEST_CASE("a run of kernels ends with the slower of device and host") {
  for (const double busy : {0.0, 20.0}) {
    ProgramBuilder b("p");
    const auto s = b.stream("compute");
    const auto o = b.stream("other");
    b.host(0.5);
    b.compute(s, 10.0);
    b.host(busy);
    b.compute(o, 0.0);
    b.host(0.5);
    const auto run = b.compute(s, 4.0);
    b.program().tasks[run].host = Seconds(2.0);
    for (const char* engine : kEngines) {
      const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
      CHECK(span_of(t, 0, run).end.value() == Approx(busy == 0.0 ? 14.5 : 25.0));
    }
  }
}

// Kernel 0-5 on one stream. The host issues it in 1, then waits for it: it goes on at 5, spends its own 2 on the
// synchronisation, and issues the next in 1 with latency 0.5: 8.5. Without the synchronisation it would start at 5.
TEST_CASE("host_sync keeps the host from issuing ahead") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  const auto h = b.stream("host");
  b.host(0.0);
  b.compute(s, 5.0);
  b.program().tasks[0].host = Seconds(1.0);
  b.host(2.0);
  b.host_sync(h, {b.last(s)});
  b.host(1.0, 0.5);
  b.compute(s, 1.0);
  b.compute(s, 1.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 0, 0.0, 5.0);
    check_span(t, 0, 1, 5.0, 7.0);
    check_span(t, 0, 2, 8.5, 9.5);
    check_span(t, 0, 3, 9.5, 10.5);
    check_accounting(t, 0, 7.0, 0.0, 0.0, 0.0, 3.5);
  }
}

// Nothing to wait for: the host spends its 2 at once; a kernel that was issued before it on another stream and is held
// back by that stream (until 4) still has its own early issue time, so it runs 4-5, not later.
TEST_CASE("a task issued before a host_sync keeps its issue time") {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  const auto h = b.stream("host");
  b.host(0.5, 0.25);
  b.compute(s, 3.25);
  b.compute(s, 1.0);
  b.host(2.0);
  b.host_sync(h, {});
  b.host_sync(h, {});
  b.host(0.5, 0.25);
  b.compute(s, 1.0);
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, one_rank(b), slow_cluster(1));
    check_span(t, 0, 1, 4.0, 5.0);
    check_span(t, 0, 2, 1.0, 3.0);
    check_span(t, 0, 3, 3.0, 5.0);
    check_span(t, 0, 4, 5.75, 6.75);
  }
}

// Rank 0 sends at once, rank 1 posts its receive after 3 of computation: rendezvous at 3, 20 bytes at 10 bytes/s: 3-5.
TEST_CASE("send and receive meet") {
  lower::Workload w;
  for (const bool sender : {true, false}) {
    ProgramBuilder b("p");
    const auto s = b.stream("compute");
    const auto c = b.stream("pp");
    const auto message = b.comm(0, "pp", 0.0, 20.0, 10.0, true, graph::CollectiveOp::send_receive);
    if (!sender) b.compute(s, 3.0);
    b.communicate(sender ? TaskKind::send : TaskKind::receive, c, message, {b.last(s)});
    w.programs.push_back(b.program());
    add_rank(w, sender ? 0 : 1);
  }
  add_group(w, "pp", {0, 1});
  for (const char* engine : kEngines) {
    const auto t = run_engine(engine, w, slow_cluster(2));
    check_span(t, 0, 0, 3.0, 5.0);
    check_span(t, 1, 1, 3.0, 5.0);
    check_accounting(t, 0, 0.0, 2.0, 0.0, 3.0, 0.0);
  }
}
