// The clock at the power limit.
#include "sim/cost/power.h"

#include <cmath>

#include "sim/cost/profile.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::cost;

namespace {

// Base 0.2; products draw 1.0 beside it at 1e15 flop/s, energy ~ f, time ~ 1/f; memory-bound kernels 0.5 at 1e13 bytes/s, no clock in either.
const PowerModel kModel{.base = 0.2, .matmul = 1.0, .attention = {2.0, 2.0}, .scores = {0.0, 0.0}, .memory_bound = 0.5, .communication = 0.3, .energy_exponent = {1.0, 1.0, 0.0}, .time_exponent = {1.0, 1.0, 0.0}};
const graph::Work kProduct = graph::Matmul{.m = 1000, .n = 1000, .k = 500000, .b_transposed = true};  // 1e12 flops
const graph::Work kCopy = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(5e9), .written = Bytes(5e9), .flops = Flops(0.0)};

PowerLoad load(std::initializer_list<std::pair<graph::Work, double>> kernels, double step) {
  PowerLoad l{.time = {}, .energy = {}, .communication = {}, .step = Seconds(step)};
  for (const auto& [work, ms] : kernels) l.add(kModel, work, Seconds(ms * 1e-3));
  return l;
}

}  // namespace

TEST_CASE("under the limit the clock stays") {
  // 1e12 flops in 2 ms: half the reference rate, 0.2 + 0.5.
  const PowerLoad half = load({{kProduct, 2.0}}, 2e-3);
  CHECK(power_share(kModel, half, 1.0) == Approx(0.7));
  CHECK(clock_share(kModel, half) == 1.0);
  CHECK(slowdown(kModel, kProduct, 1.0) == 1.0);
}

TEST_CASE("the clock falls until the limit is met") {
  // 1e12 flops in 0.8 ms: 0.2 + 1.25 at full clock. Energy f and time 1 / f: 0.2 + 1.25 f^2 = 1, f = 0.8.
  const PowerLoad busy = load({{kProduct, 0.8}}, 0.8e-3);
  CHECK(clock_share(kModel, busy) == Approx(0.8));
  CHECK(power_share(kModel, busy, 0.8) == Approx(1.0));
  CHECK(slowdown(kModel, kProduct, 0.8) == Approx(1.25));
  CHECK(slowdown(kModel, kCopy, 0.8) == 1.0);
}

TEST_CASE("idle time and communication count") {
  // The same product with as much idle time: 0.2 + 1e-3 / 1.6e-3 < 1. With a transfer all the while (0.3): 0.2 + 0.625 + 0.3 > 1.
  PowerLoad l = load({{kProduct, 0.8}}, 1.6e-3);
  CHECK(clock_share(kModel, l) == 1.0);
  l.communication = Seconds(1.6e-3);
  // 0.2 + (1e-3 f + 0.48e-3) / (0.8e-3 / f + 0.8e-3) = 1: f^2 - 0.16 f - 0.64 = 0 (in ms), f = 0.08 + sqrt(0.0064 + 0.64).
  CHECK(clock_share(kModel, l) == Approx(0.08 + std::sqrt(0.6464)));
}

TEST_CASE("memory-bound kernels beside products hold the clock down") {
  // Copies at 1e13 bytes/s alone: 0.7. With half the time products of 1.25 + 0.2: the mean at full clock is above the limit.
  const PowerLoad mix = load({{kProduct, 0.8}, {kCopy, 0.8}}, 1.6e-3);
  const double f = clock_share(kModel, mix);
  CHECK(f < 1.0);
  CHECK(power_share(kModel, mix, f) == Approx(1.0));
  CHECK(clock_share(kModel, load({{kCopy, 1.0}}, 1e-3)) == 1.0);
}

TEST_CASE("profiles have the whole power model or none") {
  CHECK_FALSE(power_model(load_profile(SGSIM_SOURCE_DIR "/scenarios/profiles/a100-80gb.json")));
  const auto h200 = power_model(load_profile(SGSIM_SOURCE_DIR "/scenarios/profiles/h200-measured.json"));
  REQUIRE(h200);
  CHECK(h200 == power_model(load_profile(SGSIM_SOURCE_DIR "/scenarios/profiles/h200-native.json")));
  // Products of 800 Tflop/s without a pause: the H200 of the records ran them at 1,470 to 1,500 of 1,980 MHz.
  PowerLoad products{.time = {}, .energy = {}, .communication = {}, .step = Seconds(0.1)};
  products.add(*h200, graph::Matmul{.m = 8192, .n = 8192, .k = 596046, .b_transposed = true}, Seconds(0.1));
  CHECK(clock_share(*h200, products) * 1980.0 == Approx(1485.0).epsilon(0.03));
}

// 2e15 flops: 2 s of the limit in 16 bits; 8 bits at 0.5 s a 1e15 flops draw a quarter. A type that is not named takes the 16-bit figure.
TEST_CASE("an operation draws by its type") {
  PowerModel m = kModel;
  m.matmul_of_type[graph::DType::float8_e4m3fn] = 0.25;
  const auto energy = [&](graph::DType type) {
    PowerLoad load;
    load.add(m, graph::Matmul{.m = 100000, .n = 100000, .k = 100000, .dtype = type}, Seconds(1.0));
    return load.energy[0].value();
  };
  CHECK(energy(graph::DType::bfloat16) == Approx(2.0));
  CHECK(energy(graph::DType::float8_e4m3fn) == Approx(0.5));
  CHECK(energy(graph::DType::float16) == Approx(2.0));
}
