// What is live at a moment, item by item.
#include "sim/lower/memory/live.h"

#include <set>

#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

// Saved 100 bytes a layer and micro-batch, temporaries 7 forward and 30 backward.
SegmentedModel model(int layers, std::int64_t parameters) {
  SegmentedModel m = fake::chain(layers, {.forward_us = 10.0, .backward_us = 20.0, .parameters = parameters, .boundary = 10.0, .saved = 100.0});
  m.segments[0].forward_peak = Bytes(7.0);
  m.segments[0].backward_peak = Bytes(30.0);
  return m;
}

double sum(const std::vector<LiveItem>& items) {
  double total = 0.0;
  for (const LiveItem& item : items) total += item.bytes.value();
  return total;
}

double bytes_of(const std::vector<LiveItem>& items, const std::string& what, const std::string& of, int micro_batch) {
  for (const LiveItem& item : items) {
    if (item.what == what && item.of == of && item.micro_batch == micro_batch) return item.bytes.value();
  }
  return -1.0;
}

}  // namespace

// Without parameters the peak of 3 layers is at the first backward kernel: 3 x 100 saved and 30 of layer 2's.
TEST_CASE("live items at the peak by layer and micro-batch") {
  plan::Plan p;
  const SegmentedModel m = model(3, 0);
  const auto cluster = fake::gpus(1, 1);
  const Lowered l = fake::lowered(m, p, fake::bare(), cluster, fake::costs());
  const auto live = live_at(memory_log(m, p, fake::bare(), cluster, fake::costs(), 0), l.memory[0].at_peak);
  for (const char* layer : {"layer 0", "layer 1", "layer 2"}) CHECK(bytes_of(live, "saved activations", layer, 0) == 100.0);
  CHECK(bytes_of(live, "backward temporaries", "layer 2", 0) == 30.0);
  CHECK(bytes_of(live, "forward temporaries", "layer 2", 0) == -1.0);
  CHECK(sum(live) == l.memory[0].peak.value());
  CHECK(live.front().what == "library workspaces");
}

// 4,000 bytes of parameters and 8,000 of moments a layer.
TEST_CASE("parameters and optimizer state by layer") {
  plan::Plan p;
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  const SegmentedModel m = model(2, 1000);
  const auto cluster = fake::gpus(1, 1);
  const Lowered l = fake::lowered(m, p, t, cluster, fake::costs());
  const auto live = live_at(memory_log(m, p, t, cluster, fake::costs(), 0), l.memory[0].curve.front());
  for (const char* layer : {"layer 0", "layer 1"}) {
    CHECK(bytes_of(live, "parameters", layer, -1) == 4000.0);
    CHECK(bytes_of(live, "optimizer state", layer, -1) == 8000.0);
  }
}

// At every point of the curve the items add up to it, on every stage of a pipeline, with FSDP inside it or without; and at the peak
// stage s of 4 holds the activations of 4 - s micro-batches (1F1B).
TEST_CASE("live items add up to the curve") {
  for (const auto sharding : {plan::Sharding::ddp, plan::Sharding::zero2, plan::Sharding::fsdp}) {
    plan::Plan p;
    p.pp = 4;
    p.dp = 2;
    p.global_batch = 16;
    p.sharding = sharding;
    const SegmentedModel m = model(8, 1000);
    const auto cluster = fake::gpus(1, 8);
    const Lowered l = fake::lowered(m, p, fake::bare(), cluster, fake::costs());
    for (int s = 0; s < 4; ++s) {
      const Memory& memory = l.memory[static_cast<std::size_t>(s)];
      const MemoryLog log = memory_log(m, p, fake::bare(), cluster, fake::costs(), s);
      for (const MemoryPoint& point : memory.curve) {
        double total = 0.0;
        for (const Bytes b : point.by_class) total += b.value();
        CHECK(sum(live_at(log, point)) == Approx(total));
      }
      std::set<int> micro_batches;
      for (const LiveItem& item : live_at(log, memory.at_peak)) {
        if (item.what == "saved activations") micro_batches.insert(item.micro_batch);
      }
      if (sharding == plan::Sharding::ddp) CHECK(micro_batches.size() == static_cast<std::size_t>(4 - s));
    }
  }
}
