#include <algorithm>

#include "sim/lower/data_parallel/state_types.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

// Saved 100 bytes a layer and micro-batch, temporaries 7 forward and 30 backward, 1,000 parameters a layer.
SegmentedModel model(int layers) {
  SegmentedModel m = fake::chain(layers, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 1000, .boundary = 10.0, .saved = 100.0});
  m.segments[0].forward_peak = Bytes(7.0);
  m.segments[0].backward_peak = Bytes(30.0);
  return m;
}

double workspaces(const Memory& m) { return m.at_peak.by_class[static_cast<std::size_t>(MemoryClass::buffers)].value(); }
double at_peak(const Memory& m, MemoryClass c) { return m.at_peak.by_class[static_cast<std::size_t>(c)].value(); }

Memory memory_of(const plan::Plan& p, const Training& t, int layers, std::size_t program = 0) {
  const Lowered l = fake::lowered(model(layers), p, t, fake::gpus(1, p.world()), fake::costs());
  REQUIRE(l.memory.size() == l.workload.programs.size());
  return l.memory.at(program);
}

}  // namespace

// One GPU, autocast, AdamW in fp32, 3 layers: parameters 12,000, moments 24,000. Backward of layer 2 (first): 300 saved + 30. Of layer 1:
// 200 + 30 and 4,000 of gradients; of layer 0: 100 + 30 + 8,000; afterwards 12,000 of gradients: the peak.
TEST_CASE("memory of one step on one GPU") {
  plan::Plan p;
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  const Memory m = memory_of(p, t, 3);
  CHECK(at_peak(m, MemoryClass::parameters) == 12000.0);
  CHECK(at_peak(m, MemoryClass::optimizer) == 24000.0);
  CHECK(at_peak(m, MemoryClass::gradients) == 12000.0);
  CHECK(at_peak(m, MemoryClass::activations) == 0.0);
  CHECK(m.peak.value() == 48000.0 + workspaces(m));
  CHECK(m.live_at_peak.front().first == "library workspaces");
}

TEST_CASE("the curve starts and ends with what persists, and its maximum is the peak") {
  plan::Plan p;
  p.global_batch = 3;
  const Memory m = memory_of(p, fake::bare(), 3);
  const auto total = [](const MemoryPoint& point) {
    double sum = 0.0;
    for (const Bytes b : point.by_class) sum += b.value();
    return sum;
  };
  double most = 0.0;
  for (const MemoryPoint& point : m.curve) most = std::max(most, total(point));
  CHECK(most == m.peak.value());
  CHECK(total(m.curve.front()) == 12000.0 + workspaces(m));
  CHECK(at_peak(m, MemoryClass::parameters) == 12000.0);
  CHECK(m.curve.back().by_class[static_cast<std::size_t>(MemoryClass::activations)].value() == 0.0);
  CHECK(std::is_sorted(m.curve.begin(), m.curve.end(), [](const MemoryPoint& a, const MemoryPoint& b) { return a.task < b.task; }));
}

// 1F1B on 4 stages: stage s holds min(p - s, m) micro-batches in flight; GPipe all. Two layers of 100 bytes a stage; at the peak the
// last forward pass has run and backward temporaries (30) are live.
TEST_CASE("micro-batches in flight by schedule") {
  plan::Plan p;
  p.pp = 4;
  p.global_batch = 8;
  SegmentedModel m = model(8);
  m.segments[0].parameters.clear();
  for (const auto schedule : {plan::Schedule::one_f_one_b, plan::Schedule::gpipe}) {
    p.schedule = schedule;
    const Lowered l = fake::lowered(m, p, fake::bare(), fake::gpus(1, 4), fake::costs());
    for (int s = 0; s < 4; ++s) {
      const int in_flight = schedule == plan::Schedule::gpipe ? 8 : 4 - s;
      CHECK(at_peak(l.memory[static_cast<std::size_t>(s)], MemoryClass::activations) == in_flight * 200.0 + 30.0);
    }
  }
}

// ZeRO-1 divides the moments, ZeRO-2 the gradients too, FSDP everything: 4,000 elements over 4 ranks, fp32 AdamW.
TEST_CASE("sharding divides what it says") {
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  t.stack.gradient_bucket_view = true;
  plan::Plan p;
  p.dp = 4;
  p.global_batch = 4;
  p.fsdp.layers_per_unit = 1;
  struct Expected {
    plan::Sharding sharding;
    double parameters, gradients, optimizer;
  };
  for (const Expected& e : {Expected{plan::Sharding::ddp, 16000, 16000, 32000}, Expected{plan::Sharding::zero1, 16000, 16000, 8000},
                            Expected{plan::Sharding::zero2, 16000, 4000, 8000}, Expected{plan::Sharding::fsdp, 4000, 4000, 8000}}) {
    p.sharding = e.sharding;
    const Lowered l = fake::lowered(model(4), p, t, fake::gpus(1, 4), fake::costs());
    const MemoryPoint& last = l.memory[0].curve.back();
    const auto kept = [&](MemoryClass c) { return last.by_class[static_cast<std::size_t>(c)].value(); };
    CHECK(kept(MemoryClass::parameters) == e.parameters);
    CHECK(kept(MemoryClass::gradients) == e.gradients);
    CHECK(kept(MemoryClass::optimizer) == e.optimizer);
    CHECK(kept(MemoryClass::communication) == Approx(0.0).margin(1e-9));
  }
}

// Buckets of 16,000 bytes beside gradients of 16,000.
TEST_CASE("DDP whose gradients are no views holds them twice and copies them back") {
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  plan::Plan p;
  p.dp = 4;
  p.global_batch = 4;
  const auto lowered = [&](bool view) {
    t.stack.gradient_bucket_view = view;
    return fake::lowered(model(4), p, t, fake::gpus(1, 4), fake::costs());
  };
  const auto gradients = [](const Lowered& l) { return l.memory[0].curve.back().by_class[static_cast<std::size_t>(MemoryClass::gradients)].value(); };
  const auto copies_back = [](const Lowered& l) {
    const std::vector<std::string>& names = l.workload.programs[0].names;
    return std::find(names.begin(), names.end(), "copy gradients out of buckets") != names.end();
  };
  CHECK(gradients(lowered(false)) == 32000.0);
  CHECK(copies_back(lowered(false)));
  CHECK(gradients(lowered(true)) == 16000.0);
  CHECK_FALSE(copies_back(lowered(true)));
}

TEST_CASE("element types: autocast, master copies, FSDP mixed precision") {
  Training t;
  t.autocast = true;
  StateTypes s = state_types(t, plan::Sharding::ddp);
  CHECK(s.parameter == graph::DType::float32);
  CHECK_FALSE(s.master);
  t.autocast = false;  // Megatron: bf16 parameters, fp32 master and main gradients
  s = state_types(t, plan::Sharding::zero1);
  CHECK(s.parameter == graph::DType::bfloat16);
  CHECK(s.master);
  CHECK(s.main_gradient);
  s = state_types(t, plan::Sharding::fsdp);  // gathered in bf16, the shard is the master
  CHECK(s.parameter == graph::DType::bfloat16);
  CHECK(s.kept == graph::DType::float32);
  CHECK_FALSE(s.master);
  t.parameter_dtype = t.gradient_dtype = graph::DType::bfloat16;  // pure bf16
  s = state_types(t, plan::Sharding::ddp);
  CHECK(s.kept == graph::DType::bfloat16);
  CHECK_FALSE(s.master);
  CHECK_FALSE(s.main_gradient);
}
