#include <map>

#include "sim/lower/schedule/partition.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"
#include "tests/unit/lower/program_reference_engine.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

plan::Plan pipeline(int pp, int micro_batches, plan::Schedule schedule, int virtual_stages = 1) {
  plan::Plan p;
  p.pp = pp;
  p.schedule = schedule;
  p.virtual_stages = virtual_stages;
  p.global_batch = micro_batches;
  return p;
}

struct Run {
  Lowered lowered;
  std::vector<std::vector<reference::Times>> times;
};

Run run(const SegmentedModel& m, const plan::Plan& p, const Training& t = fake::bare()) {
  Run r{.lowered = fake::lowered(m, p, t, fake::gpus(1, p.world()), fake::costs()), .times = {}};
  const auto times = reference::simulate(r.lowered.workload);
  REQUIRE(times);
  r.times = *times;
  return r;
}

// Compute spans of one rank in microseconds: "0-10 10-20".
std::string spans(const Run& r, std::size_t rank) {
  const Program& p = r.lowered.workload.programs[r.lowered.workload.ranks[rank].program.value];
  std::string s;
  for (std::size_t t = 0; t < p.tasks.size(); ++t) {
    if (p.tasks[t].kind != TaskKind::compute || p.tasks[t].device.value() <= 0.0) continue;
    s += fmt::format("{}{:.0f}-{:.0f}", s.empty() ? "" : " ", r.times[rank][t].start.value() * 1e6, r.times[rank][t].end.value() * 1e6);
  }
  return s;
}

const fake::LayerSizes kFree{.forward_us = 10.0, .backward_us = 20.0, .parameters = 0, .boundary = 0.0, .saved = 0.0};

}  // namespace

// One layer a stage, forward 10, backward 20, transfers free. Stage 1 works without a break from 10 to 130; stage 0 waits for its
// gradients: B0 when stage 1 has done F0 and B0 at 40. All ends at (m + p - 1)(f + b) = 5 * 30 = 150.
TEST_CASE("1F1B with two stages and four micro-batches, each task") {
  const Run r = run(fake::chain(2, kFree), pipeline(2, 4, plan::Schedule::one_f_one_b));
  //                   F0   F1    B0    F2    B1    F3     B2      B3
  CHECK(spans(r, 0) == "0-10 10-20 40-60 60-70 70-90 90-100 100-120 130-150");
  //                   F0    B0    F1    B1    F2    B2     F3      B3
  CHECK(spans(r, 1) == "10-20 20-40 40-50 50-70 70-80 80-100 100-110 110-130");
}

// The same with transfers of 1 us (1,000 bytes at 1 GB/s). Sends run beside computation: stage 1 starts F0 at 11 and ends B0 at 41;
// its gradient is at stage 0 at 42. F1 was sent at 20 and is long there. B0 42-62, F2 62-72, sent to 73; stage 1: F1 41-51,
// B1 51-71, F2 73-83.
TEST_CASE("1F1B with transfers beside computation") {
  fake::LayerSizes layer = kFree;
  layer.boundary = 1000.0;
  Training t = fake::bare();
  t.stack.pipeline_waits_for_sends = false;
  const Run r = run(fake::chain(2, layer), pipeline(2, 4, plan::Schedule::one_f_one_b), t);
  CHECK(spans(r, 0).rfind("0-10 10-20 42-62 62-72 72-92", 0) == 0);
  CHECK(spans(r, 1).rfind("11-21 21-41 41-51 51-71 73-83", 0) == 0);
}

// A stage that waits for its sends: stage 0 starts F1 at 11, when F0 has been sent; stage 1 starts F1 at 42, when B0's gradient
// has been sent; stage 0's B1 waits for F2's send (72-73), and so on.
TEST_CASE("1F1B waits for its sends") {
  fake::LayerSizes layer = kFree;
  layer.boundary = 1000.0;
  const Run r = run(fake::chain(2, layer), pipeline(2, 4, plan::Schedule::one_f_one_b));
  CHECK(spans(r, 0).rfind("0-10 11-21 42-62 62-72 73-93", 0) == 0);
  CHECK(spans(r, 1).rfind("11-21 21-41 42-52 52-72 73-83", 0) == 0);
}

// Bubble share of the step (p - 1) / (m + p - 1), GPipe (Huang et al. 2019) and 1F1B alike; interleaving divides the bubble by
// v: step = m (f + b) + (p - 1)(f + b) / v (Narayanan et al. 2021, section 2.2).
TEST_CASE("bubbles are what the schedules promise") {
  for (const int p : {2, 4}) {
    for (const int m : {4, 8}) {
      const double work = m * 30.0 * 4;  // four layers of 30 us on each stage, in all
      for (const auto schedule : {plan::Schedule::gpipe, plan::Schedule::one_f_one_b}) {
        const Run r = run(fake::chain(4 * p, kFree), pipeline(p, m, schedule));
        const double step = reference::makespan(r.times).value() * 1e6;
        CHECK((step - work) / step == Approx(static_cast<double>(p - 1) / (m + p - 1)));
      }
      for (const int v : {2, 4}) {
        const Run r = run(fake::chain(4 * p, kFree), pipeline(p, m, plan::Schedule::interleaved, v));
        if (m > p) CHECK(reference::makespan(r.times).value() * 1e6 == Approx(work + (p - 1) * 30.0 * 4 / v));
      }
    }
  }
}

// Forward, input gradients and weight gradients 10 each: a layer whose backward pass is two kernels.
SegmentedModel split_chain(int layers, double input_us = 10.0, double weight_us = 10.0) {
  SegmentedModel m = fake::chain(layers, kFree);
  m.segments[0].backward = {fake::kernel("input", input_us, graph::Phase::backward), fake::kernel("weight", weight_us, graph::Phase::backward)};
  m.segments[0].weight_only = {false, true};
  m.segments[0].saved = Bytes(100.0);
  m.segments[0].held = Bytes(40.0);
  return m;
}

// Stage 1 has F0 done at 20 and B0 at 30; stage 0 runs B0 from there, W0 at once. Stage 1 leaves W0 until B1 is done.
TEST_CASE("ZB-H1 with two stages and two micro-batches, each task") {
  const Run r = run(split_chain(2), pipeline(2, 2, plan::Schedule::zero_bubble));
  //                   F0   F1    B0    W0    B1    W1
  CHECK(spans(r, 0) == "0-10 10-20 30-40 40-50 50-60 60-70");
  //                   F0    B0    F1    B1    W0    W1
  CHECK(spans(r, 1) == "10-20 20-30 30-40 40-50 50-60 60-70");
}

// Recomputation (10) stands before the input gradients; weight gradients read what it made, so it is not run again for them.
TEST_CASE("ZB-H1 with recomputation, each task") {
  SegmentedModel m = split_chain(2);
  m.segments[0].recompute = {fake::kernel("again", 10.0, graph::Phase::forward)};
  const Run r = run(m, pipeline(2, 2, plan::Schedule::zero_bubble));
  //                   F0   F1    B0    W0    B1    W1
  CHECK(spans(r, 0) == "0-10 10-20 40-60 60-70 70-90 90-100");
  //                   F0    B0    F1    B1    W0    W1
  CHECK(spans(r, 1) == "10-20 20-40 40-50 50-70 70-80 80-90");
}

// Qi et al. 2023, table 2: the bubble of ZB-H1 is (p - 1)(T_F + T_B - T_W), a third of 1F1B's (p - 1)(T_F + T_B + T_W) where they
// are equal; at most as much memory as 1F1B's first stage, p M_B: stage s has p - s micro-batches before their input
// gradients and s before their weight gradients.
TEST_CASE("ZB-H1's bubble and memory") {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {p, 2 * p + 1, 4 * p}) {
      for (const double weight : {10.0, 8.0}) {
        CAPTURE(p, m, weight);
        const double input = 20.0 - weight;
        const Run zero = run(split_chain(p, input, weight), pipeline(p, m, plan::Schedule::zero_bubble));
        CHECK(reference::makespan(zero.times).value() * 1e6 == Approx(m * 30.0 + (p - 1) * (10.0 + input - weight)));
        const Run plain = run(split_chain(p, input, weight), pipeline(p, m, plan::Schedule::one_f_one_b));
        CHECK(reference::makespan(plain.times).value() * 1e6 == Approx(m * 30.0 + (p - 1) * 30.0));
        if (m < 2 * p) continue;
        for (int s = 0; s < p; ++s) {
          const Memory& memory = zero.lowered.memory[zero.lowered.workload.ranks[static_cast<std::size_t>(s)].program.value];
          CHECK(memory.at_peak.by_class[static_cast<std::size_t>(MemoryClass::activations)].value() == Approx((p - s) * 100.0 + s * 40.0));
        }
      }
    }
  }
}

TEST_CASE("every schedule runs to its end with rendezvous transfers") {
  fake::LayerSizes layer = kFree;
  layer.boundary = 500.0;
  for (int p = 2; p <= 5; ++p) {
    for (int m = 1; m <= 3 * p; ++m) {
      CAPTURE(p, m);
      Training waiting = fake::bare();
      waiting.stack.interleaved_waits_for_sends = true;
      (void)run(fake::chain(p, layer), pipeline(p, m, plan::Schedule::gpipe));
      (void)run(fake::chain(p, layer), pipeline(p, m, plan::Schedule::one_f_one_b));
      SegmentedModel split = split_chain(p);
      split.segments[0].boundary = Bytes(500.0);
      (void)run(split, pipeline(p, m, plan::Schedule::zero_bubble));
      if (m % p != 0) continue;
      (void)run(fake::chain(3 * p, layer), pipeline(p, m, plan::Schedule::interleaved, 3));
      (void)run(fake::chain(3 * p, layer), pipeline(p, m, plan::Schedule::interleaved, 3), waiting);
    }
  }
}

TEST_CASE("what stands before and after the layers goes to the first and the last stage") {
  const fake::LayerSizes side{.forward_us = 1.0, .backward_us = 1.0, .parameters = 5};
  const SegmentedModel m = fake::chain(5, kFree, &side, &side);
  plan::Plan p = pipeline(2, 2, plan::Schedule::one_f_one_b);
  const auto stages = partition(m, p);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0][0].positions.size() == 4);  // before, layers 0 to 2
  CHECK(stages[0][0].positions[0].label == "before");
  CHECK(stages[0][0].positions[1].label == "layer 0");
  CHECK(stages[1][0].positions.size() == 3);  // layers 3 and 4, after
  CHECK(stages[1][0].positions[2].label == "after");
  p = pipeline(2, 2, plan::Schedule::interleaved, 2);
  p.stage_layers = {1, 2, 1, 1};
  const auto chunks = partition(m, p);
  CHECK(chunks[0][0].positions.size() == 2);
  CHECK(chunks[1][0].positions.size() == 2);
  CHECK(chunks[0][1].positions.size() == 1);
  CHECK(chunks[0][1].index == 2);
  CHECK(chunks[1][1].positions.back().label == "after");
}

// Tied embeddings on two stages: the gradients of both copies (8 elements of 4 bytes) are summed once a step.
TEST_CASE("tied embeddings are reduced between the first and the last stage") {
  const fake::LayerSizes side{.forward_us = 1.0, .backward_us = 1.0, .parameters = 8};
  SegmentedModel m = fake::chain(2, kFree, &side, &side);
  for (ModelSegment& s : m.segments) {
    if (s.role != SegmentRole::layer) s.parameters[0].name = "embedding.weight";
  }
  const Run r = run(m, pipeline(2, 2, plan::Schedule::one_f_one_b));
  for (const Program& p : r.lowered.workload.programs) {
    int found = 0;
    for (const Task& t : p.tasks) {
      if (t.kind != TaskKind::collective) continue;
      ++found;
      CHECK(p.comms[t.comm].payload.value() == 32.0);
      CHECK(p.comms[t.comm].op == graph::CollectiveOp::all_reduce);
    }
    CHECK(found == 1);
  }
  CHECK(r.lowered.workload.groups.back().kind == "embedding");
}
