#include "sim/lower/program/run_cost.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"
#include "tests/unit/lower/program_reference_engine.h"

using namespace sgsim;
using namespace sgsim::lower;

// Two kernels, host 5 us each, latency 3 us, device 10 and 2 us. Idle device: the first runs from 8 to 18; the second is
// issued at 10, could start at 13, waits until 18, ends at 20. Busy device until S = 100: ends at 112.
TEST_CASE("a run of kernels composes host and device exactly") {
  const RunCost a = kernel_run(10.0_us, 5.0_us, 3.0_us, Seconds()), b = kernel_run(2.0_us, 5.0_us, 3.0_us, Seconds());
  const RunCost ab = then(a, b);
  CHECK(ab.device.value() == Approx(12e-6));
  CHECK(ab.issue_to_end.value() == Approx(20e-6));
  CHECK(ab.host.value() == Approx(10e-6));
  // Host-bound: tiny kernels of 1 us: the second starts when it is issued, 10 + 3, and ends at 14.
  const RunCost tiny = kernel_run(1.0_us, 5.0_us, 3.0_us, Seconds());
  CHECK(then(tiny, tiny).issue_to_end.value() == Approx(14e-6));
}

TEST_CASE("repeat is then, n times") {
  for (const double device : {1e-6, 9e-6}) {
    const RunCost one = kernel_run(Seconds(device), 5.0_us, 3.0_us, 1.0_us);
    RunCost sum = one;
    for (int n = 1; n <= 5; ++n) {
      CHECK(repeat(one, n).device.value() == Approx(sum.device.value()));
      CHECK(repeat(one, n).issue_to_end.value() == Approx(sum.issue_to_end.value()));
      CHECK(repeat(one, n).host.value() == Approx(sum.host.value()));
      sum = then(sum, one);
    }
  }
}

// pp = 1, dp = 1: 3 layers of 10 us forward and 20 us backward, 2 micro-batches: nothing stands between the kernels, so
// each pass is one task: 2 (30 + 60) = 180 us.
TEST_CASE("without anything between them the kernels of a pass are one task") {
  plan::Plan p;
  p.global_batch = 2;
  const Lowered l = fake::lowered(fake::chain(3), p, fake::bare(), fake::gpus(1, 1), fake::costs());
  const Program& program = l.workload.programs.at(0);
  std::size_t compute = 0;
  for (const Task& t : program.tasks) compute += t.device.value() > 0.0;
  CHECK(compute == 4);
  CHECK(program.names[program.segments[program.tasks[0].segment].name.value] == "forward layer 0 to layer 2");
  CHECK(program.segments[program.tasks[0].segment].kernel_count == 3);
  const auto times = reference::simulate(l.workload);
  REQUIRE(times);
  CHECK(reference::makespan(*times).value() == Approx(180e-6));
  CHECK(l.model_flops.value() == Approx(2e6));
}
