#include "sim/lower/data_parallel/offload.h"
#include "sim/lower/schedule/partition.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"
#include "tests/unit/lower/program_reference_engine.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

// A host link on which a copy takes its bytes in nanoseconds.
cluster::Cluster machine(int gpus) {
  cluster::Cluster c = fake::gpus(1, gpus);
  c.node.pcie.bandwidth = BytesPerSecond(1e9 / kHostCopyEfficiency);
  return c;
}

double makespan_us(const Lowered& lowered) {
  const auto times = reference::simulate(lowered.workload);
  REQUIRE(times);
  return reference::makespan(*times).value() * 1e6;
}

double most(const Lowered& lowered, MemoryClass c) {
  double bytes = 0.0;
  for (const MemoryPoint& p : lowered.memory.at(0).curve) bytes = std::max(bytes, p.by_class[static_cast<std::size_t>(c)].value());
  return bytes;
}

}  // namespace

// Three layers, forward 10 us and backward 20. A layer leaves once it has run: copies of 4 us run beside the next layer.
TEST_CASE("activation offload hides behind layers that take longer") {
  const SegmentedModel m = fake::chain(3, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 0, .boundary = 0.0, .saved = 4000.0});
  plan::Plan p;
  CHECK(most(fake::lowered(m, p, fake::bare(), machine(1), fake::costs()), MemoryClass::activations) == 3.0 * 4000.0);
  p.offload.activations = true;
  const Lowered offloaded = fake::lowered(m, p, fake::bare(), machine(1), fake::costs());
  CHECK(makespan_us(offloaded) == Approx(90.0));
  // The layer at hand and the one before it.
  CHECK(most(offloaded, MemoryClass::activations) == 2.0 * 4000.0);
}

// Copies of 15 us: layer 0 leaves 10-25, layer 1 has run at 20 and waits for it; its own copy is 25-40 beside layer 2 (25-35). Layer 2 runs
// back from 35 to 55 while layer 1 is fetched (40-55), which runs to 75; layer 0 is fetched from 55 to 70, runs to 95.
TEST_CASE("activation offload holds up layers that are faster than the link") {
  const SegmentedModel m = fake::chain(3, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 0, .boundary = 0.0, .saved = 15000.0});
  plan::Plan p;
  p.offload.activations = true;
  CHECK(makespan_us(fake::lowered(m, p, fake::bare(), machine(1), fake::costs())) == Approx(95.0));
}

// One layer of 1,000 float32 parameters on 2 GPUs of one server: kernels 30 us, then gradients 4,000 bytes = 4 us to the host, the host updates
// 1,000 parameters at half of its rate, parameters 4 us back.
TEST_CASE("optimizer offload: copy, update, copy, one after the other; no moments on the GPU") {
  const SegmentedModel m = fake::chain(1, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 1000, .boundary = 0.0, .saved = 0.0});
  plan::Plan p;
  p.tp = 2;
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  const Lowered plain = fake::lowered(m, p, t, machine(2), fake::costs());
  CHECK(most(plain, MemoryClass::optimizer) == 8000.0);
  p.offload.optimizer = true;
  const Lowered offloaded = fake::lowered(m, p, t, machine(2), fake::costs());
  CHECK(most(offloaded, MemoryClass::optimizer) == 0.0);
  CHECK(makespan_us(offloaded) == Approx(30.0 + 4.0 + 1000.0 / (kHostUpdates / 2.0) * 1e6 + 4.0));
}

// Two stages of three layers, the first of each recomputed: its forward kernel (10 us) runs again.
TEST_CASE("some layers recomputed: the first ones of each chunk") {
  SegmentedModel recomputed = fake::chain(6, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 0, .boundary = 0.0, .saved = 10.0});
  const SegmentedModel kept = fake::chain(6, {.forward_us = 10.0, .backward_us = 20.0, .parameters = 0, .boundary = 0.0, .saved = 100.0});
  recomputed.segments[0].recompute = {fake::kernel("again", 10.0, graph::Phase::backward)};
  const SegmentedModel both = with_kept_layers(recomputed, kept);
  plan::Plan p;
  p.pp = 2;
  p.recompute = plan::Recompute::full;
  p.recompute_layers = 1;
  const auto stages = partition(both, p);
  for (const auto& chunks : stages) {
    REQUIRE(chunks.size() == 1);
    std::vector<std::uint32_t> segments;
    for (const Position& position : chunks[0].positions) segments.push_back(position.segment);
    CHECK(segments == std::vector<std::uint32_t>{0, 1, 1});
  }
  // One micro-batch: forward 30 + 30, backward 70 + 70. All recomputed 60 + 180, none 60 + 120.
  CHECK(makespan_us(fake::lowered(both, p, fake::bare(), machine(2), fake::costs())) == Approx(200.0));
  CHECK(most(fake::lowered(both, p, fake::bare(), machine(2), fake::costs()), MemoryClass::activations) == 210.0);
}
