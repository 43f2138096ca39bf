#include "sim/cost/matmul.h"

#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/small_profile.h"

namespace sgsim::cost {
namespace {

graph::Matmul linear(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) { return {.batch = batch, .m = m, .n = n, .k = k, .a_transposed = false, .b_transposed = true}; }

double us(Seconds s) { return s.value() * 1e6; }

TEST_CASE("bound without tiles: arithmetic, memory, fixed part") {
  const Profile p = small_profile();
  // 2 * 1000^3 = 2e9 flops at 100 TFLOP/s: 20 us, + 2 us. Memory: 3 * 1e6 * 2 B = 6 MB at 1 TB/s: 6 us, less.
  CHECK(us(matmul_bound(p.gpu, p.matmul_models[0], linear(1000, 1000, 1000))) == Approx(22.0));
  // k = 10: 0.2 us of arithmetic; (10 + 10) * 1000 * 2 B + 2 MB = 2.04 MB: 2.04 us, + 2 us.
  CHECK(us(matmul_bound(p.gpu, p.matmul_models[0], linear(1000, 1000, 10))) == Approx(4.04));
  // Half efficient memory doubles its part.
  MatmulModel half = p.matmul_models[0];
  half.memory_efficiency = 0.5;
  CHECK(us(matmul_bound(p.gpu, half, linear(1000, 1000, 10))) == Approx(6.08));
}

TEST_CASE("bound with tiles: waves are counted, the last one by its weight") {
  const Profile p = small_profile();
  MatmulModel m = p.matmul_models[0];
  m.fixed = Seconds();
  m.tiles = {{100, 100, 1.0}};
  // One SM does 1 TFLOP/s; a 100 x 100 tile with k = 1000 is 2e7 flops: 20 us a wave.
  m.wave_weight = 1.0;
  CHECK(us(matmul_bound(p.gpu, m, linear(1000, 1000, 1000))) == Approx(20.0));  // 100 tiles: one wave
  CHECK(us(matmul_bound(p.gpu, m, linear(1001, 1000, 1000))) == Approx(40.0));  // 110 tiles: 1.1 waves, counted as 2
  m.wave_weight = 0.5;
  CHECK(us(matmul_bound(p.gpu, m, linear(1001, 1000, 1000))) == Approx(31.0));  // 1.1 + 0.5 * 0.9 = 1.55 waves
  m.partial_wave_weight = 1.0;
  CHECK(us(matmul_bound(p.gpu, m, linear(100, 100, 1000))) == Approx(20.0));    // one tile takes as long as a full wave
  m.k_overhead = 100;
  CHECK(us(matmul_bound(p.gpu, m, linear(100, 100, 1000))) == Approx(22.0));    // 1,100 steps of k instead of 1,000
  // The best tile wins: one of half the size and 0.8 of the rate fits 50 columns in 0.5 * 20 / 0.8 = 12.5 us.
  m.k_overhead = 0;
  m.tiles.push_back({100, 50, 0.8});
  CHECK(us(matmul_bound(p.gpu, m, linear(100, 50, 1000))) == Approx(12.5));
}

/// Twice the bound at k = 1000, three times at k = 4000.
MatmulTable table_of(const Profile& p) {
  MatmulTable t{.dtype = graph::DType::bfloat16, .a_transposed = false, .b_transposed = true, .batch = {1}, .m = {1000}, .n = {1000}, .k = {1000, 4000}, .time_ns = {}, .held_out = {.rows = 10, .median = 0.02, .p90 = 0.1645}, .source = "s"};
  for (const std::int64_t k : t.k) t.time_ns.push_back(std::llround(matmul_bound(p.gpu, p.matmul_models[0], linear(1000, 1000, k)).value() * 1e9 * (k == 1000 ? 2.0 : 3.0)));
  return t;
}

TEST_CASE("a table corrects the bound") {
  Profile p = small_profile();
  p.matmul_tables = {table_of(p)};
  Diagnostics d;
  const Estimate on = matmul_time(p, linear(1000, 1000, 1000), d);
  CHECK(us(on.time) == Approx(44.0));
  CHECK(on.source == Source::measured);
  CHECK(on.sigma == Approx(0.1));  // p90 0.1645 / 1.645
  CHECK(on.bound == Bound::compute);
  CHECK(on.flops.value() == 2e9);
  // k = 2000 is half way in the logarithm: ratio sqrt(2 * 3), bound 40 + 2 us.
  const Estimate between = matmul_time(p, linear(1000, 1000, 2000), d);
  CHECK(us(between.time) == Approx(42.0 * std::sqrt(6.0)));
  CHECK(between.source == Source::interpolated);
  CHECK(d.empty());
  // Outside: the edge's ratio, the bound of the true shape (160 + 2 us), counted.
  const Estimate outside = matmul_time(p, linear(1000, 1000, 8000), d);
  CHECK(us(outside.time) == Approx(162.0 * 3.0));
  CHECK(outside.source == Source::analytic);
  CHECK(outside.sigma == Approx(0.2));
  CHECK(d.entries().at("cost.matmul.outside_measured_range").count == 1);
}

TEST_CASE("layouts, alignment and types without a table of their own") {
  Profile p = small_profile();
  p.matmul_tables = {table_of(p)};
  Diagnostics d;
  graph::Matmul nn = linear(1000, 1000, 1000), nt = nn, odd = linear(1000, 1000, 1000), half = nn;
  nn.b_transposed = false;
  nt.a_transposed = true;
  nt.b_transposed = false;
  CHECK(us(matmul_time(p, nn, d).time) == Approx(44.0 * 1.1));
  CHECK(us(matmul_time(p, nt, d).time) == Approx(44.0 * 1.2));
  CHECK(matmul_time(p, nn, d).source == Source::interpolated);
  half.dtype = graph::DType::float16;
  CHECK(us(matmul_time(p, half, d).time) == Approx(44.0));
  CHECK(matmul_time(p, half, d).source == Source::interpolated);
  odd.n = 1001;  // rows of the result are no multiple of 8 elements
  CHECK(matmul_time(p, odd, d).time.value() > 2.9 * matmul_time(p, linear(1000, 1000, 1000), d).time.value());
  graph::Matmul single = nn;
  single.dtype = graph::DType::float64;
  CHECK_THROWS_AS(matmul_time(p, single, d), InputError);
}

TEST_CASE("a batch that the table does not have is folded into rows") {
  Profile p = small_profile();
  p.matmul_tables = {table_of(p)};
  p.matmul_tables[0].m = {500, 1000};
  const auto t = p.matmul_tables[0].time_ns;
  p.matmul_tables[0].time_ns = {0, 0, t[0], t[1]};  // nothing measured at m = 500
  Diagnostics d;
  // 2 x 500 rows: the ratio at m = 1000 (2), the bound of the batch itself (20 + 2 us).
  CHECK(us(matmul_time(p, linear(500, 1000, 1000, 2), d).time) == Approx(44.0));
  // An unmeasured corner leaves its weight to the other: m = 700 has the ratio of m = 1000.
  CHECK(us(matmul_time(p, linear(700, 1000, 1000), d).time) == Approx(2.0 * us(matmul_bound(p.gpu, p.matmul_models[0], linear(700, 1000, 1000)))));
  CHECK(d.empty());
}

}  // namespace
}  // namespace sgsim::cost
