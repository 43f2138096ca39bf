#include "sim/lower/program/power.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

compile::Kernel product(graph::Phase phase = graph::Phase::forward) {
  compile::Kernel k;
  k.name = "mm";
  k.work = graph::Matmul{.m = 1000, .n = 1000, .k = 1000};  // 2e9 flops, 6e6 bytes
  k.phase = phase;
  return k;
}

compile::Kernel stream() {
  compile::Kernel k;
  k.name = "add";
  k.work = graph::MemoryBound{.read = Bytes(1e6), .written = Bytes(1e6), .flops = Flops()};
  return k;
}

/// Every kernel takes a millisecond; those that move bytes are bound by memory.
TaskCosts millisecond() {
  TaskCosts c = fake::costs();
  c.kernel = [](const graph::Work& work) {
    cost::Estimate e{.time = Seconds(1e-3), .flops = {}, .bytes = {}};
    e.bound = std::holds_alternative<graph::MemoryBound>(work) ? cost::Bound::memory : cost::Bound::compute;
    return e;
  };
  return c;
}

SegmentedModel model_of(std::vector<compile::Kernel> forward, std::vector<compile::Kernel> backward = {}) {
  SegmentedModel m = fake::chain(1);
  m.segments[0].forward = std::move(forward);
  m.segments[0].backward = std::move(backward);
  return m;
}

// A product of 2e9 flops at 1.5e-3 s of the limit draws 1.5 limits over its millisecond at full clock beside a base of 0.5. Energy goes
// with the clock, time does with its inverse, so that the power above the base goes with the square.
const cost::PowerModel kPower = [] {
  cost::PowerModel m;
  m.base = 0.5;
  m.matmul = 1.5e-3 / 2e9 * 1e15;
  m.energy_exponent = {1.0, 1.0, 1.0};
  m.time_exponent = {1.0, 1.0, 0.0};
  return m;
}();

std::vector<SegmentLaunches> limited(const SegmentedModel& m, const TaskCosts& costs) {
  auto segments = price_segments(m, compile::Execution::compiled, Stack{}, costs);
  apply_power_limit(segments, m, kPower);
  return segments;
}

}  // namespace

// 0.5 + 1.5 f^2 = 1: f = 0.577, the product takes 1.732 ms.
TEST_CASE("products alone above the power limit are stretched by the clock") {
  const SegmentedModel m = model_of({product()});
  const auto segments = limited(m, millisecond());
  CHECK(segments[0].forward[0].estimate.time.value() == Approx(1.7320508e-3));
  CHECK(segments[0].forward[0].cost.device.value() == Approx(1.7320508e-3));
}

// Beside a stream of 1 ms: 0.5 + 1.5 f / (1 / f + 1) = 1: 3 f^2 = 1 + f, f = 0.7676. The stream, which no clock binds, takes its own time.
TEST_CASE("kernels that draw less lower the mean, and are not stretched") {
  const SegmentedModel m = model_of({product(), stream()});
  const auto segments = limited(m, millisecond());
  CHECK(segments[0].forward[0].estimate.time.value() == Approx(1e-3 / 0.7675919));
  CHECK(segments[0].forward[1].estimate.time.value() == Approx(1.0e-3));
}

// A host of 3 ms a kernel leaves the GPU idle two thirds of the time: 0.5 + 1.5 / 3, at the limit and not above.
TEST_CASE("a GPU that waits for its host rests") {
  const SegmentedModel m = model_of({product()});
  TaskCosts costs = millisecond();
  costs.launch.host_per_kernel = Seconds(3e-3);
  CHECK(limited(m, costs)[0].forward[0].estimate.time.value() == Approx(1.0e-3));
}

// 7.5 us of host for the kernel's call; DTensor adds 300 us to a forward product and half of 400 us to each of the two backward.
TEST_CASE("DTensor's dispatch costs host time, in layers run eagerly") {
  const SegmentedModel m = model_of({product()}, {product(graph::Phase::backward), product(graph::Phase::backward)});
  TaskCosts costs = millisecond();
  costs.eager.host_per_operator = 7.5_us;
  costs.wrapper = TensorWrapper{.forward = 300.0_us, .backward = 400.0_us, .collective = {}, .optimizer_loop = {}, .optimizer_fused = {}};
  const auto eager = price_segments(m, compile::Execution::eager, Stack{}, costs);
  CHECK(eager[0].forward[0].cost.host.value() == Approx(307.5e-6));
  CHECK(eager[0].backward[0].cost.host.value() == Approx(207.5e-6));
  const auto compiled = price_segments(m, compile::Execution::compiled, Stack{}, costs);
  CHECK(compiled[0].forward[0].cost.host.value() == Approx(0.0));
}

// 8-bit products of a layer draw by their type, though their kernels' work says bfloat16: at a third of the energy nothing is slowed.
TEST_CASE("8-bit layers draw what 8-bit products draw") {
  const SegmentedModel m = model_of({product()});
  Stack stack;
  stack.float8_linear = true;
  stack.float8_cast_bytes = 0.0;
  auto segments = price_segments(m, compile::Execution::compiled, stack, millisecond());
  cost::PowerModel power = kPower;
  power.matmul_of_type[graph::DType::float8_e4m3fn] = power.matmul / 3.0;
  apply_power_limit(segments, m, power);
  CHECK(segments[0].forward[0].estimate.time.value() == Approx(1.0e-3));
  power.matmul_of_type.clear();
  apply_power_limit(segments, m, power);
  CHECK(segments[0].forward[0].estimate.time.value() == Approx(1.7320508e-3));
}

// One layer, each pass a product and a stream of 1 ms, and a data-parallel all-reduce beside them. Kernels: (1.4 + 1.2) / 2 = 1.3. In those
// 2.6 ms the transfer advances 1.4 / 1.25 + 1.2 / 3 = 1.52 ms: 1.711 times as long.
TEST_CASE("interference is the mean over what a program runs") {
  const SegmentedModel m = model_of({product(), stream()}, {product(graph::Phase::backward), stream()});
  TaskCosts costs = millisecond();
  costs.beside = ClassInterference{.product = {1.4, 1.25}, .attention = {1.0, 1.0}, .memory_bound = {1.2, 3.0}};
  plan::Plan p;
  p.dp = 2;
  p.global_batch = 2;
  Training t = fake::bare();
  t.stack.gradient_bucket_view = true;
  const Lowered l = fake::lowered(m, p, t, fake::gpus(1, 2), costs);
  CHECK(l.workload.programs.at(0).compute_slowdown == Approx(1.3));
  CHECK(l.workload.programs.at(0).transfer_slowdown == Approx(2.6 / 1.52));
}

namespace {

compile::Kernel transfer(graph::CollectiveOp op, std::vector<KernelId> inputs) {
  compile::Kernel k;
  k.is_communication = true;
  k.communication = {.op = op, .group = "tp", .bytes = Bytes(8e6)};
  k.inputs = std::move(inputs);
  return k;
}

compile::Kernel reading(compile::Kernel kernel, std::vector<KernelId> inputs) {
  kernel.inputs = std::move(inputs);
  return kernel;
}

}  // namespace

// norm, gather, product, gelu, product, reduce-scatter, add: in one piece the first product waits for the gather and the add for the
// reduce-scatter, which follows the second product. In pieces gelu waits for the gather, and the reduce-scatter goes before its product.
TEST_CASE("tensor-parallel transfers in pieces run beside their products") {
  const auto id = [](std::uint32_t i) { return KernelId{i}; };
  const SegmentedModel m = model_of({stream(), transfer(graph::CollectiveOp::all_gather, {id(0)}), reading(product(), {id(1)}), reading(stream(), {id(2)}), reading(product(), {id(3)}),
                                     transfer(graph::CollectiveOp::reduce_scatter, {id(4)}), reading(stream(), {id(5)})});
  const auto whole = price_segments(m, compile::Execution::compiled, Stack{}, millisecond(), false, 4)[0].forward;
  CHECK(whole[1].reader == 2);
  CHECK(whole[5].kernel->is_communication);
  CHECK(whole[5].reader == 6);
  Stack stack;
  stack.tensor_parallel_pipelined = true;
  const auto pieces = price_segments(m, compile::Execution::compiled, stack, millisecond(), false, 4)[0].forward;
  CHECK(pieces[1].reader == 3);
  CHECK(pieces[4].kernel->is_communication);
  CHECK(pieces[4].reader == 6);
  CHECK_FALSE(pieces[5].kernel->is_communication);
  // A kernel of any size takes 1 ms here: four pieces 4 ms; what was received is summed up in one kernel more.
  CHECK(pieces[2].estimate.time.value() == Approx(4.0e-3));
  CHECK(pieces[5].estimate.time.value() == Approx(5.0e-3));
  CHECK(pieces[0].estimate.time.value() == Approx(1.0e-3));
  // Operands of 8-bit products are cast before they are gathered; what is scattered stays in 16 bits.
  stack.float8_linear = true;
  const auto cast = price_segments(m, compile::Execution::compiled, stack, millisecond(), false, 4)[0].forward;
  CHECK(payload_of(cast[1]).value() == Approx(4e6));
  CHECK(payload_of(cast[4]).value() == Approx(8e6));
  stack.float8_gather = false;
  CHECK(payload_of(price_segments(m, compile::Execution::compiled, stack, millisecond(), false, 4)[0].forward[1]).value() == Approx(8e6));
}

// A product that reads a gather and is scattered: the reduce-scatter goes first, then the product, and what follows both waits for the gather.
TEST_CASE("a product between a gather and a reduce-scatter in pieces") {
  const auto id = [](std::uint32_t i) { return KernelId{i}; };
  const SegmentedModel m = model_of({stream(), transfer(graph::CollectiveOp::all_gather, {id(0)}), reading(product(), {id(1)}), transfer(graph::CollectiveOp::reduce_scatter, {id(2)}), reading(stream(), {id(3)})});
  Stack stack;
  stack.tensor_parallel_pipelined = true;
  const auto pieces = price_segments(m, compile::Execution::compiled, stack, millisecond(), false, 4)[0].forward;
  CHECK(pieces[2].kernel->is_communication);
  CHECK_FALSE(pieces[3].kernel->is_communication);
  CHECK(pieces[1].reader == 4);
  CHECK(pieces[2].reader == 4);
}

// As above, the optimizer's update in place of the stream: 16 bytes of each of 1,000 elements read take 1 ms. Frozen, they are not updated.
TEST_CASE("the update of trained parameters lowers the mean power, frozen ones are none") {
  TaskCosts costs = millisecond();
  costs.power = kPower;
  costs.kernel = [inner = costs.kernel](const graph::Work& work) {
    cost::Estimate e = inner(work);
    if (const auto* bytes = std::get_if<graph::MemoryBound>(&work)) e.time = Seconds(1e-3 * bytes->read.value() / 16000.0);
    return e;
  };
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  SegmentedModel m = model_of({product()});
  const auto of_product = [&] {
    const Lowered l = fake::lowered(m, {}, t, fake::gpus(1, 1), costs);
    return l.workload.programs[0].tasks.at(0).device.value();
  };
  CHECK(of_product() == Approx(1e-3 / 0.7675919));
  m.segments[0].parameters[0].trained = false;
  CHECK(of_product() == Approx(1.7320508e-3));
}
