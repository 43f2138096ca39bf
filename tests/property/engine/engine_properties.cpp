// What must hold for any workload. Random workloads come from tests/support/engine/random_workload.h; rapidcheck draws
// their sizes and shrinks them.
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "sim/engine/engine.h"
#include "sim/engine/fast/fast_engine.h"
#include "tests/support/catch.h"
#include "tests/support/engine/oracle.h"
#include "tests/support/engine/random_workload.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

const engine::Options kAllSpans{.spans_of = {}, .all_spans = true};

RandomSize draw_size() {
  RandomSize size;
  size.seed = *rc::gen::arbitrary<std::uint64_t>();
  size.stages = *rc::gen::inRange(1, 4);
  size.data = *rc::gen::inRange(1, 4);
  size.tensor = *rc::gen::inRange(1, 4);
  size.actions = *rc::gen::inRange(0, 60);
  size.streams = *rc::gen::inRange(1, 4);
  return size;
}

lower::Workload draw_perturbed(const RandomSize& size) {
  lower::Workload workload = random_workload(size);
  perturb(workload, size.seed + 1, *rc::gen::inRange(0, 4));
  return workload;
}

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1e-3}); }

bool near(const timeline::Accounting& a, const timeline::Accounting& b, double tolerance) {
  return near(a.compute.value(), b.compute.value(), tolerance) && near(a.exposed_comm.value(), b.exposed_comm.value(), tolerance) &&
         near(a.overlapped_comm.value(), b.overlapped_comm.value(), tolerance) && near(a.bubble.value(), b.bubble.value(), tolerance) &&
         near(a.host_bound.value(), b.host_bound.value(), tolerance) && near(a.end.value(), b.end.value(), tolerance);
}

/// Spans by task, so that equal starts in another order do not matter.
std::vector<timeline::Span> spans_of(const timeline::Timeline& timeline, std::uint32_t rank) {
  std::vector<timeline::Span> spans;
  for (const timeline::Span& span : timeline.spans) {
    if (span.rank == rank) spans.push_back(span);
  }
  std::sort(spans.begin(), spans.end(), [](const timeline::Span& a, const timeline::Span& b) { return a.task < b.task; });
  return spans;
}

bool near(const std::vector<timeline::Span>& a, const std::vector<timeline::Span>& b, double tolerance) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const timeline::Span& x, const timeline::Span& y) {
    return x.task == y.task && x.stream == y.stream && near(x.arrival.value(), y.arrival.value(), tolerance) && near(x.start.value(), y.start.value(), tolerance) &&
           near(x.end.value(), y.end.value(), tolerance);
  });
}

}  // namespace

TEST_CASE("the fast engine computes the longest path where nothing interferes") {
  CHECK(rc::check("fast = oracle", [] {
    const lower::Workload workload = draw_perturbed(draw_size());
    const OracleTimes expected = oracle(workload);
    const timeline::Timeline actual = engine::run_fast(engine::unfolded(workload), kAllSpans);
    RC_ASSERT(near(actual.step_time.value(), expected.step, 1e-12));
    std::size_t tasks = 0;
    for (const auto& rank : expected.end) tasks += rank.size();
    RC_ASSERT(actual.spans.size() == tasks);
    for (const timeline::Span& span : actual.spans) {
      RC_ASSERT(near(span.start.value(), expected.start[span.rank][span.task], 1e-12));
      RC_ASSERT(near(span.end.value(), expected.end[span.rank][span.task], 1e-12));
    }
  }));
}

TEST_CASE("interference delays, never hastens, and each rank's time is accounted for") {
  CHECK(rc::check("interference", [] {
    RandomSize size = draw_size();
    size.interference = true;
    const lower::Workload workload = draw_perturbed(size);
    const OracleTimes undisturbed = oracle(workload);
    const timeline::Timeline actual = engine::run_fast(engine::unfolded(workload), kAllSpans);
    for (const timeline::Span& span : actual.spans) RC_ASSERT(span.end.value() >= undisturbed.end[span.rank][span.task] - 1e-12);
    for (const timeline::Accounting& a : actual.ranks) {
      // The rest is copies: neither computation nor communication nor idle.
      const double sum = (a.compute + a.exposed_comm + a.bubble + a.host_bound).value();
      RC_ASSERT(sum <= actual.step_time.value() * (1.0 + 1e-12) + 1e-15);
      RC_ASSERT(a.overlapped_comm.value() <= a.compute.value() * (1.0 + 1e-12) + 1e-15);
      for (const Seconds part : {a.compute, a.exposed_comm, a.overlapped_comm, a.bubble, a.host_bound}) RC_ASSERT(part.value() >= -1e-15);
    }
  }));
}

TEST_CASE("the makespan is at least the work of every stream") {
  CHECK(rc::check("work over capacity", [] {
    RandomSize size = draw_size();
    size.interference = *rc::gen::arbitrary<bool>();
    const lower::Workload workload = draw_perturbed(size);
    const double step = engine::run_fast(engine::unfolded(workload), {}).step_time.value();
    for (const lower::RankBinding& rank : workload.ranks) {
      const lower::Program& program = workload.programs[rank.program.value];
      std::vector<double> work(program.streams.size(), 0.0);
      for (const lower::Task& task : program.tasks) {
        work[task.stream] += task.kind == lower::TaskKind::compute ? task.device.value() / rank.speed : task.kind == lower::TaskKind::host_sync ? 0.0 : task.device.value();
      }
      for (const double w : work) RC_ASSERT(step >= w * (1.0 - 1e-12));
    }
  }));
}

TEST_CASE("folded = full") {
  CHECK(rc::check("folded = full", [] {
    RandomSize size = draw_size();
    size.interference = *rc::gen::arbitrary<bool>();
    const lower::Workload workload = draw_perturbed(size);
    const engine::Folded folded = engine::fold(workload);
    RC_ASSERT(std::accumulate(folded.multiplicity.begin(), folded.multiplicity.end(), std::size_t{0}) == workload.ranks.size());
    const timeline::Timeline small = engine::run_fast(folded, kAllSpans);
    const timeline::Timeline full = engine::run_fast(engine::unfolded(workload), kAllSpans);
    RC_ASSERT(near(small.step_time.value(), full.step_time.value(), 1e-12));
    for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
      const std::uint32_t c = folded.class_of[r];
      RC_ASSERT(near(small.ranks[c], full.ranks[r], 1e-11));
      RC_ASSERT(near(spans_of(small, c), spans_of(full, r), 1e-12));
    }
  }));
}

TEST_CASE("an undisturbed workload folds to its stages") {
  CHECK(rc::check("one class a stage", [] {
    const RandomSize size = draw_size();
    RC_ASSERT(engine::fold(random_workload(size)).multiplicity == std::vector<std::uint32_t>(static_cast<std::size_t>(size.stages), static_cast<std::uint32_t>(size.data * size.tensor)));
  }));
}

TEST_CASE("times scaled by k give a result scaled by k") {
  CHECK(rc::check("scaling", [] {
    RandomSize size = draw_size();
    size.interference = *rc::gen::arbitrary<bool>();
    lower::Workload workload = draw_perturbed(size);
    const double before = engine::run_fast(engine::unfolded(workload), {}).step_time.value();
    const double k = *rc::gen::element(0.25, 3.0, 1024.0);
    scale(workload, k);
    RC_ASSERT(near(engine::run_fast(engine::unfolded(workload), {}).step_time.value(), k * before, 1e-12));
  }));
}

TEST_CASE("ranks may be renamed") {
  CHECK(rc::check("renaming", [] {
    RandomSize size = draw_size();
    size.interference = *rc::gen::arbitrary<bool>();
    const lower::Workload workload = draw_perturbed(size);
    std::vector<std::uint32_t> places(workload.ranks.size());
    std::iota(places.begin(), places.end(), 0u);
    std::shuffle(places.begin(), places.end(), std::mt19937_64(size.seed));
    const lower::Workload renamed = permute(workload, places);
    const timeline::Timeline a = engine::run_fast(engine::unfolded(workload), {}), b = engine::run_fast(engine::unfolded(renamed), {});
    RC_ASSERT(near(a.step_time.value(), b.step_time.value(), 1e-12));
    for (std::size_t r = 0; r < places.size(); ++r) RC_ASSERT(near(a.ranks[r], b.ranks[places[r]], 1e-11));
    RC_ASSERT(engine::fold(workload).multiplicity.size() == engine::fold(renamed).multiplicity.size());
  }));
}

TEST_CASE("a result does not depend on what ran before, nor on what runs beside") {
  CHECK(rc::check("determinism", [] {
    std::vector<engine::Folded> jobs;
    for (int j = 0; j < 4; ++j) {
      RandomSize size = draw_size();
      size.interference = j % 2 == 1;
      jobs.push_back(engine::unfolded(draw_perturbed(size)));
    }
    std::vector<timeline::Timeline> fresh;
    for (const engine::Folded& job : jobs) fresh.push_back(engine::run_fast(job, kAllSpans));
    std::vector<std::thread> threads;
    std::vector<char> same(jobs.size(), 1);
    for (std::size_t start = 0; start < jobs.size(); ++start) {
      threads.emplace_back([&, start] {
        engine::FastEngine reused;
        for (std::size_t k = 0; k < 2 * jobs.size(); ++k) {
          const std::size_t j = (start + k) % jobs.size();
          const timeline::Timeline again = reused.run(jobs[j], kAllSpans);
          if (again.step_time != fresh[j].step_time || again.ranks != fresh[j].ranks || again.spans != fresh[j].spans) same[start] = 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    RC_ASSERT(std::count(same.begin(), same.end(), 1) == static_cast<std::ptrdiff_t>(jobs.size()));
  }));
}

// Each rank on a node of its own, NICs a million times faster than any cap: no link is ever shared to the full.
TEST_CASE("both engines agree to 1e-9 without contention") {
  CHECK(rc::check("simgrid = fast", [] {
    RandomSize size = draw_size();
    size.interference = *rc::gen::arbitrary<bool>();
    size.inter_node = true;
    const lower::Workload workload = draw_perturbed(size);
    cluster::Cluster cluster;
    cluster.nodes = static_cast<int>(workload.ranks.size());
    cluster.node.gpus = cluster.node.nics = 1;
    cluster.node.nic.bandwidth = BytesPerSecond(1e15);
    const engine::Folded full = engine::unfolded(workload);
    const timeline::Timeline fast = engine::run_fast(full, kAllSpans), simgrid = engine::run_simgrid(full, cluster, kAllSpans);
    RC_ASSERT(near(fast.step_time.value(), simgrid.step_time.value(), 1e-9));
    RC_ASSERT(fast.tasks == simgrid.tasks);
    for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
      RC_ASSERT(near(fast.ranks[r], simgrid.ranks[r], 1e-9));
      RC_ASSERT(near(spans_of(fast, r), spans_of(simgrid, r), 1e-9));
    }
  }));
}

// Two GPUs a node on one NIC that carries what one operation asks for: whatever shares it only gets later.
TEST_CASE("sharing links never hastens anything") {
  CHECK(rc::check("simgrid >= fast", [] {
    RandomSize size = draw_size();
    size.inter_node = true;
    const lower::Workload workload = draw_perturbed(size);
    cluster::Cluster cluster;
    cluster.nodes = static_cast<int>(workload.ranks.size() + 1) / 2;
    cluster.node.gpus = 2;
    cluster.node.nics = 1;
    cluster.node.nic.bandwidth = BytesPerSecond(1e9);
    cluster.fabric.nodes_per_leaf = 2;
    cluster.fabric.oversubscription = *rc::gen::element(1.0, 2.0);
    const engine::Folded full = engine::unfolded(workload);
    const timeline::Timeline fast = engine::run_fast(full, kAllSpans), simgrid = engine::run_simgrid(full, cluster, kAllSpans);
    for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
      const auto a = spans_of(fast, r), b = spans_of(simgrid, r);
      RC_ASSERT(a.size() == b.size());
      for (std::size_t t = 0; t < a.size(); ++t) RC_ASSERT(b[t].end.value() >= a[t].end.value() * (1.0 - 1e-9));
    }
  }));
}
