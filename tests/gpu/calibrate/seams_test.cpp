// The real seams on a real GPU: what the fakes of tests/unit/calibrate stand in for.
#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/runner.h"
#include "calibrate/bench/sweeps.h"
#include "calibrate/device/cuda/cupti_source.h"
#include "calibrate/device/cuda/nccl_group.h"
#include "calibrate/device/cuda/nvml_source.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

namespace {

struct Gpu {
  std::unique_ptr<ActivitySource> activities = make_cupti_source();
  Context context{std::size_t{2} << 30};
};
Gpu& gpu() {
  static Gpu instance;
  return instance;
}

Key product(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout, const char* dtype) {
  return {.group = "matmul", .labels = {{"dtype", dtype}, {"layout", layout}}, .sizes = {{"batch", 1}, {"m", m}, {"n", n}, {"k", k}}};
}

}  // namespace

TEST_CASE("CUPTI gives marked records of kernels, fills and copies") {
  Gpu& g = gpu();
  const DeviceBuffer memory(1 << 20);
  (void)g.activities->collect();
  for (std::uint64_t mark = 1; mark <= 3; ++mark) {
    g.activities->set_mark(mark);
    poison(memory.data(), memory.bytes(), g.context.stream.get());
    fill_random(memory.data(), 1 << 18, Element::float32, mark, 1.0F, g.context.stream.get());
  }
  g.activities->clear_mark();
  g.context.stream.synchronize();
  const Assembly a = assemble(g.activities->collect(), 1, 3);
  REQUIRE(a.runs.size() == 3);
  CHECK(a.losses == AssemblyLosses{});
  for (const Run& run : a.runs) {
    REQUIRE(run.activities.size() == 2);
    CHECK(run.activities[0].kind == ActivityKind::fill);
    CHECK(run.activities[1].name.find("fill_kernel") != std::string::npos);
    CHECK(busy_seconds(run) > 0.0);
  }
}

TEST_CASE("kernels of a CUDA graph carry the mark of its launch and their nodes") {
  Gpu& g = gpu();
  const DeviceBuffer memory(1 << 20);
  const Graph graph = capture(g.context.stream.get(), [&] {
    for (int i = 0; i < 3; ++i) fill_random(memory.data(), 1 << 18, Element::float32, 1, 1.0F, g.context.stream.get());
  });
  const GraphExec exec = graph.instantiate();
  (void)g.activities->collect();
  g.activities->set_mark(7);
  exec.launch(g.context.stream.get());
  g.activities->clear_mark();
  g.context.stream.synchronize();
  const Assembly a = assemble(g.activities->collect(), 7, 1);
  REQUIRE(a.runs.size() == 1);
  REQUIRE(a.runs[0].activities.size() == 3);
  for (const Activity& activity : a.runs[0].activities) CHECK(activity.graph_node != 0);
}

TEST_CASE("a second subscriber is refused in words") {
  (void)gpu();
  CHECK_THROWS_AS(make_cupti_source(), std::exception);
}

TEST_CASE("products of every layout and type are right") {
  Gpu& g = gpu();
  for (const char* layout : {"nt", "nn", "tn"}) {
    for (const char* dtype : {"bfloat16", "float16", "float32"}) {
      g.context.pool.reset();
      const Task task = prepare_matmul(g.context, product(384, 640, 256, layout, dtype));
      INFO(layout << " " << dtype);
      CHECK(task.check().passed());
    }
  }
}

TEST_CASE("a wrong product is noticed") {
  Gpu& g = gpu();
  g.context.pool.reset();
  const Task task = prepare_matmul(g.context, product(384, 640, 256, "nt", "bfloat16"));
  CHECK(task.check().error > 0.0);  // rounding alone: the check does not compare a thing with itself
}

TEST_CASE("the machine describes itself") {
  const auto source = make_machine_source();
  const Machine machine = source->describe();
  REQUIRE_FALSE(machine.gpus.empty());
  CHECK(machine.gpus.front().sms > 0);
  CHECK(machine.gpus.front().memory_bytes > (1ll << 30));
  const auto state = source->state(0);
  if (!state) {
    WARN("NVML gives no state here");
    return;
  }
  CHECK(state->sm_clock_mhz > 0);
}
