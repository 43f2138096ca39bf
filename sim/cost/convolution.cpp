#include "sim/cost/convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/cost/matmul.h"

namespace sgsim::cost {
namespace {

Seconds convolution_bound(const Profile& profile, const graph::Convolution& work) {
  const graph::Matmul product = implicit_product(work);
  const MatmulModel& model = matmul_model(profile, work.dtype);
  const double arithmetic = matmul_bound_parts(profile.gpu, model, product).arithmetic.value() / model.math_efficiency;
  const double memory = graph::bytes_of(work).value() / (profile.gpu.hbm_bandwidth.value.value() * model.memory_efficiency);
  return Seconds(std::max(arithmetic, memory)) + model.fixed;
}

double distance(const graph::Convolution& a, const graph::Convolution& b) {
  const graph::Matmul p = implicit_product(a), q = implicit_product(b);
  const auto gap = [](std::int64_t x, std::int64_t y) { return std::abs(std::log(static_cast<double>(x) / static_cast<double>(y))); };
  const double area = gap(a.kernel_height * a.kernel_width, b.kernel_height * b.kernel_width);
  return gap(p.m * p.batch, q.m * q.batch) + gap(p.n, q.n) + gap(p.k, q.k) + 2.0 * area + gap(a.stride, b.stride) + 2.0 * gap(a.groups, b.groups);
}

}  // namespace

graph::Matmul implicit_product(const graph::Convolution& w) {
  const std::int64_t out_height = (w.in_height + 2 * w.padding - w.kernel_height) / w.stride + 1;
  const std::int64_t out_width = (w.in_width + 2 * w.padding - w.kernel_width) / w.stride + 1;
  const std::int64_t positions = w.batch * out_height * out_width, area = w.kernel_height * w.kernel_width;
  const std::int64_t in = w.in_channels / w.groups, out = w.out_channels / w.groups;
  graph::Matmul p{.batch = w.groups, .m = positions, .n = out, .k = in * area, .b_transposed = true, .dtype = w.dtype, .out_dtype = w.dtype};
  if (w.pass == graph::ConvolutionPass::input_gradient) {
    p.m = w.batch * w.in_height * w.in_width;
    p.n = in;
    p.k = std::max<std::int64_t>(1, out * area / (w.stride * w.stride));
    p.b_transposed = false;
  }
  if (w.pass == graph::ConvolutionPass::weight_gradient) {
    p.m = out;
    p.n = in * area;
    p.k = positions;
    p.a_transposed = true;
    p.b_transposed = false;
  }
  return p;
}

Estimate convolution_time(const Profile& profile, const graph::Convolution& work, Diagnostics& diagnostics) {
  Estimate e{.time = convolution_bound(profile, work), .flops = graph::flops_of(work), .bytes = graph::bytes_of(work), .source = Source::analytic, .sigma = 0.3};
  const graph::Matmul product = implicit_product(work);
  const MatmulModel& model = matmul_model(profile, work.dtype);
  const MatmulBound bound = matmul_bound_parts(profile.gpu, model, product);
  e.bound = e.bytes / profile.gpu.hbm_bandwidth.value > bound.arithmetic ? Bound::memory : Bound::compute;
  const ConvolutionPoint* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const ConvolutionPoint& point : profile.convolutions) {
    if (point.work.pass != work.pass) continue;
    const double d = distance(point.work, work);
    if (d < least) least = d, nearest = &point;
  }
  if (nearest == nullptr) {
    diagnostics.add("cost.convolution.outside_measured_range", Severity::warning, "no convolution of this pass was measured");
    return e;
  }
  e.time = e.time * (static_cast<double>(nearest->time_ns) * 1e-9 / convolution_bound(profile, nearest->work).value());
  e.source = nearest->work == work ? Source::measured : Source::interpolated;
  e.sigma = nearest->work == work ? 0.03 : std::min(0.3, 0.05 + 0.1 * least);
  if (least > 3.0) {  // a factor of 20 in one dimension, or 2.7 in each of three
    e.source = Source::analytic;
    diagnostics.add("cost.convolution.outside_measured_range", Severity::warning,
                    "m " + std::to_string(product.m) + ", n " + std::to_string(product.n) + ", k " + std::to_string(product.k));
  }
  return e;
}

}  // namespace sgsim::cost
