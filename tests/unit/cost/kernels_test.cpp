#include "sim/cost/attention.h"
#include "sim/cost/convolution.h"
#include "sim/cost/cost.h"
#include "sim/cost/matmul.h"
#include "sim/cost/memory_bound.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/small_profile.h"

namespace sgsim::cost {
namespace {

double us(Seconds s) { return s.value() * 1e6; }

graph::Attention attention(std::int64_t heads, std::int64_t length) { return {.batch = 1, .heads = heads, .kv_heads = heads, .q_len = length, .kv_len = length, .head_dim = 128, .causal = false}; }

TEST_CASE("attention bound: spread work, longest block, fixed part") {
  const Profile p = small_profile();
  // 10 heads, 1000 x 1000, 128: 2 products * 2 * 10 * 1e6 * 128 = 5.12e9 flops at 0.5 * 100 TFLOP/s: 102.4 us. Longest block:
  // 2 * 2 * 128 rows * 1000 * 128 = 6.5536e7 flops at 0.5 TFLOP/s of one SM: 131.072 us. + 1 us.
  CHECK(us(attention_bound(p, p.attention_models[0], attention(10, 1000))) == Approx(102.4 + 131.072 + 1.0));
  // Causal halves the pairs (500.5 a row of 1000) and wastes half the diagonal blocks (1 + 128 / 1000).
  graph::Attention causal = attention(10, 1000);
  causal.causal = true;
  CHECK(us(attention_bound(p, p.attention_models[0], causal)) == Approx(102.4 * 0.5005 * 1.128 + 131.072 + 1.0));
  // Backward: 5 products instead of 2, and helpers: 10 bytes for each of 1.28e6 query elements at 0.5 TB/s: 25.6 us.
  graph::Attention backward = attention(10, 1000);
  backward.pass = graph::Pass::backward;
  CHECK(us(attention_bound(p, p.attention_models[1], backward)) == Approx(2.5 * (102.4 + 131.072) + 1.0 + 25.6));
}

TEST_CASE("an attention table corrects the bound and says where it ends") {
  Profile p = small_profile();
  Diagnostics d;
  CHECK(attention_time(p, attention(10, 1000), d).source == Source::fitted);  // no table: the model, by intent
  const double at1000 = attention_bound(p, p.attention_models[0], attention(10, 1000)).value() * 1e9;
  const double at4000 = attention_bound(p, p.attention_models[0], attention(10, 4000)).value() * 1e9;
  p.attention_tables = {{.dtype = graph::DType::bfloat16, .pass = graph::Pass::forward, .causal = false, .dense_mask = false, .head_dim = 128, .group = {1}, .batch_heads = {10}, .length = {1000, 4000},
                         .time_ns = {std::llround(2.0 * at1000), std::llround(2.0 * at4000)}, .held_out = {.rows = 1, .median = 0.01, .p90 = 0.05}, .source = "s"}};
  CHECK(attention_time(p, attention(10, 1000), d).time.value() * 1e9 == Approx(2.0 * at1000));
  CHECK(attention_time(p, attention(10, 1000), d).source == Source::measured);
  CHECK(attention_time(p, attention(10, 2000), d).source == Source::interpolated);
  CHECK(d.empty());
  CHECK(attention_time(p, attention(10, 8000), d).source == Source::analytic);
  CHECK(d.entries().at("cost.attention.outside_measured_range").count == 1);
}

TEST_CASE("bandwidth curve: floor, log-log between points, plateau") {
  const Profile p = small_profile();
  Diagnostics d;
  const auto time = [&](double bytes) { return us(memory_bound_time(p, {.kind = graph::MemoryKind::pointwise, .read = Bytes(bytes * 0.75), .written = Bytes(bytes * 0.25), .flops = {}}, d).time); };
  CHECK(time(10.0) == Approx(1.0));
  CHECK(time(1e6) == Approx(2.0));
  CHECK(time(1e4) == Approx(std::pow(2.0, 1.0 / 3.0)));  // a third of the way from 1 us at 1e3 to 2 us at 1e6
  CHECK(time(1e9) == Approx(1100.0));                    // the last point's 1e8 bytes in 110 us
  CHECK(d.empty());
  const graph::MemoryBound busy{.kind = graph::MemoryKind::pointwise, .read = Bytes(1e3), .written = {}, .flops = Flops(1e9)};
  const Estimate e = memory_bound_time(p, busy, d);
  CHECK(us(e.time) == Approx(1e9 / 25.6e6));  // 1e9 flops at the issue rate: 100 SMs x 1 GHz x 128 lanes x 2, more than the float32 rate
  CHECK(e.bound == Bound::compute);
  (void)memory_bound_time(p, {.kind = graph::MemoryKind::norm, .read = Bytes(1e6), .written = {}, .flops = {}}, d);
  CHECK(d.entries().at("cost.memory_bound.no_curve").count == 1);
}

TEST_CASE("cross-entropy takes the larger of bytes read and written") {
  Profile p = small_profile();
  p.bandwidth_curves.push_back(p.bandwidth_curves[0]);
  p.bandwidth_curves[1].kind = graph::MemoryKind::cross_entropy;
  Diagnostics d;
  const auto forward = memory_bound_time(p, {.kind = graph::MemoryKind::cross_entropy, .read = Bytes(1e8), .written = {}, .flops = {}}, d);
  const auto backward = memory_bound_time(p, {.kind = graph::MemoryKind::cross_entropy, .read = Bytes(1e8), .written = Bytes(1e8), .flops = {}}, d);
  CHECK(forward.time == backward.time);
}

TEST_CASE("implicit products of a convolution's three passes do the same work") {
  graph::Convolution c{.batch = 8, .in_channels = 64, .out_channels = 128, .in_height = 28, .in_width = 28, .kernel_height = 3, .kernel_width = 3, .stride = 1, .padding = 1};
  const graph::Matmul f = implicit_product(c);
  CHECK(f.m == 8 * 28 * 28);
  CHECK(f.n == 128);
  CHECK(f.k == 64 * 9);
  for (const auto pass : {graph::ConvolutionPass::input_gradient, graph::ConvolutionPass::weight_gradient}) {
    c.pass = pass;
    CHECK(graph::flops_of(implicit_product(c)) == graph::flops_of(f));
  }
  c.pass = graph::ConvolutionPass::forward;
  c.stride = 2;
  CHECK(implicit_product(c).m == 8 * 14 * 14);
}

TEST_CASE("a convolution takes the ratio of the nearest measured one") {
  Profile p = small_profile();
  Diagnostics d;
  graph::Convolution c{.batch = 8, .in_channels = 64, .out_channels = 128, .in_height = 28, .in_width = 28, .kernel_height = 3, .kernel_width = 3, .stride = 1, .padding = 1};
  const double bare = convolution_time(p, c, d).time.value();
  CHECK(d.entries().at("cost.convolution.outside_measured_range").count == 1);
  p.convolutions = {{.work = c, .time_ns = std::llround(bare * 3e9), .source = "s"}};
  Diagnostics e;
  CHECK(convolution_time(p, c, e).time.value() == Approx(3.0 * bare).epsilon(1e-3));
  CHECK(convolution_time(p, c, e).source == Source::measured);
  c.batch = 16;  // twice the arithmetic: near twice the time
  CHECK(convolution_time(p, c, e).source == Source::interpolated);
  CHECK(convolution_time(p, c, e).time.value() > 1.7 * 3.0 * bare);
  CHECK(e.empty());
}

}  // namespace
}  // namespace sgsim::cost
