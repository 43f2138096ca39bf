#include "planner/search/pipeline.h"
#include "tests/support/catch.h"

using namespace sgsim;
using search::ChunkPasses;
using search::Pipeline;
using search::PipelineInput;

namespace {

// Stages with forward 1 s and backward 2 s; the device is all that matters.
PipelineInput even(plan::Schedule schedule, int pp, int chunks, std::int64_t micro_batches, double hop, bool waits) {
  PipelineInput in{.schedule = schedule, .pp = pp, .virtual_stages = chunks, .micro_batches = micro_batches, .chunks = {}, .waits_for_sends = waits, .exchange_host = {}, .latency = {}};
  for (int g = 0; g < pp * chunks; ++g) {
    ChunkPasses p;
    p.forward.fill({.device = Seconds(1.0 / chunks), .issue_to_end = {}, .host = {}});
    p.backward.fill({.device = Seconds(2.0 / chunks), .issue_to_end = {}, .host = {}});
    p.hop = Seconds(hop);
    in.chunks.push_back(p);
  }
  return in;
}

double step(const PipelineInput& in) {
  double most = 0.0;
  for (const Seconds end : Pipeline().run(in).end) most = std::max(most, end.value());
  return most;
}

}  // namespace

TEST_CASE("pipeline: GPipe and 1F1B take (m + p - 1) (F + B) when transfers are free") {
  // Huang et al. 2019: m = 4, p = 2: 5 x 3 s; the bubble is (p - 1) / (m + p - 1) of it.
  CHECK(step(even(plan::Schedule::gpipe, 2, 1, 4, 0.0, false)) == Approx(15.0));
  CHECK(step(even(plan::Schedule::one_f_one_b, 2, 1, 4, 0.0, true)) == Approx(15.0));
  CHECK(step(even(plan::Schedule::one_f_one_b, 4, 1, 8, 0.0, true)) == Approx(33.0));
}

TEST_CASE("pipeline: long steps are continued from the steady state") {
  CHECK(step(even(plan::Schedule::one_f_one_b, 4, 1, 200, 0.0, true)) == Approx(203.0 * 3.0));
  CHECK(step(even(plan::Schedule::gpipe, 4, 1, 200, 0.0, false)) == Approx(203.0 * 3.0));
  // Narayanan et al. 2021: v chunks divide the bubble by v: m (F + B) + (p - 1) (F + B) / v.
  CHECK(step(even(plan::Schedule::interleaved, 4, 2, 200, 0.0, false)) == Approx(200.0 * 3.0 + 3.0 * 3.0 / 2.0));
}

// Qi et al. 2023, ZB-H1: m (F + B + W) + (p - 1)(F + B - W), of 1, 1 and 1 s.
TEST_CASE("pipeline: ZB-H1's bubble is a third of 1F1B's") {
  for (const std::int64_t micro_batches : {8, 200}) {
    PipelineInput in = even(plan::Schedule::zero_bubble, 4, 1, micro_batches, 0.0, false);
    for (ChunkPasses& p : in.chunks) {
      p.backward.fill({.device = Seconds(1.0), .issue_to_end = {}, .host = {}});
      p.inputs = {.device = Seconds(1.0), .issue_to_end = {}, .host = {}};
    }
    CHECK(step(in) == Approx(3.0 * static_cast<double>(micro_batches) + 3.0));
  }
}

TEST_CASE("pipeline: one stage is a sum") { CHECK(step(even(plan::Schedule::one_f_one_b, 1, 1, 100, 0.5, true)) == Approx(300.0)); }

TEST_CASE("pipeline: transfers of the filling pipeline are seen") {
  // Two stages, one micro-batch: F, hop, F B, hop, B.
  CHECK(step(even(plan::Schedule::one_f_one_b, 2, 1, 1, 0.5, false)) == Approx(1.0 + 0.5 + 3.0 + 0.5 + 2.0));
}

TEST_CASE("pipeline: the slowest stage sets the pace") {
  PipelineInput in = even(plan::Schedule::one_f_one_b, 2, 1, 300, 0.0, true);
  PipelineInput longer = in;
  in.chunks[1].forward.fill({.device = Seconds(2.0), .issue_to_end = {}, .host = {}});
  longer.chunks[1] = in.chunks[1];
  longer.micro_batches = 301;
  CHECK(step(longer) - step(in) == Approx(4.0));
}

TEST_CASE("pipeline: the host is what a pass waits for when it is slower") {
  // One stage, kernels of no time, 1 s of host work a pass: 2 m s.
  PipelineInput in = even(plan::Schedule::one_f_one_b, 1, 1, 10, 0.0, false);
  for (auto* passes : {&in.chunks[0].forward, &in.chunks[0].backward}) passes->fill({.device = {}, .issue_to_end = Seconds(1.0), .host = Seconds(1.0)});
  CHECK(step(in) == Approx(20.0));
}
