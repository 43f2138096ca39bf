// Convolutions through cuDNN, NHWC, bfloat16. Labels: dtype, pass. Sizes: batch, in_channels, out_channels, height (= width),
// kernel (square), stride, padding.
#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/cases/sampled.cuh"
#include "calibrate/bench/cases/workshop.h"

namespace sgsim::calibrate {
namespace {

struct Geometry {
  std::int64_t batch, in, out, size, kernel, stride, padding, out_size;
};

// One element by its definition; x [n, h, w, c], w [k, r, s, c], y [n, p, q, k].
struct ExpectedConvolution {
  Geometry g;
  DnnGraph::Pass pass;
  const __nv_bfloat16 *x, *w, *y;

  __device__ double at_x(std::int64_t n, std::int64_t h, std::int64_t v, std::int64_t c) const { return to_double(x[((n * g.size + h) * g.size + v) * g.in + c]); }
  __device__ double at_w(std::int64_t k, std::int64_t r, std::int64_t s, std::int64_t c) const { return to_double(w[((k * g.kernel + r) * g.kernel + s) * g.in + c]); }
  __device__ double at_y(std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t k) const {
    return to_double(y[((n * g.out_size + p) * g.out_size + q) * g.out + k]);
  }
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    double sum = 0.0;
    if (pass == DnnGraph::Pass::forward) {
      const std::int64_t k = i % g.out, q = i / g.out % g.out_size, p = i / (g.out * g.out_size) % g.out_size, n = i / (g.out * g.out_size * g.out_size);
      for (std::int64_t t = threadIdx.x; t < g.kernel * g.kernel * g.in; t += blockDim.x) {
        const std::int64_t c = t % g.in, s = t / g.in % g.kernel, r = t / (g.in * g.kernel);
        const std::int64_t h = p * g.stride + r - g.padding, v = q * g.stride + s - g.padding;
        if (h >= 0 && h < g.size && v >= 0 && v < g.size) sum += at_x(n, h, v, c) * at_w(k, r, s, c);
      }
      return {block_sum(sum), at_y(n, p, q, k)};
    }
    if (pass == DnnGraph::Pass::input_gradient) {
      const std::int64_t c = i % g.in, v = i / g.in % g.size, h = i / (g.in * g.size) % g.size, n = i / (g.in * g.size * g.size);
      for (std::int64_t t = threadIdx.x; t < g.kernel * g.kernel * g.out; t += blockDim.x) {
        const std::int64_t k = t % g.out, s = t / g.out % g.kernel, r = t / (g.out * g.kernel);
        const std::int64_t ph = h + g.padding - r, qv = v + g.padding - s;
        if (ph < 0 || qv < 0 || ph % g.stride != 0 || qv % g.stride != 0 || ph / g.stride >= g.out_size || qv / g.stride >= g.out_size) continue;
        sum += at_y(n, ph / g.stride, qv / g.stride, k) * at_w(k, r, s, c);
      }
      return {block_sum(sum), at_x(n, h, v, c)};
    }
    const std::int64_t c = i % g.in, s = i / g.in % g.kernel, r = i / (g.in * g.kernel) % g.kernel, k = i / (g.in * g.kernel * g.kernel);
    for (std::int64_t t = threadIdx.x; t < g.batch * g.out_size * g.out_size; t += blockDim.x) {
      const std::int64_t q = t % g.out_size, p = t / g.out_size % g.out_size, n = t / (g.out_size * g.out_size);
      const std::int64_t h = p * g.stride + r - g.padding, v = q * g.stride + s - g.padding;
      if (h >= 0 && h < g.size && v >= 0 && v < g.size) sum += at_y(n, p, q, k) * at_x(n, h, v, c);
    }
    return {block_sum(sum), at_w(k, r, s, c)};
  }
};

struct Operands {
  Geometry g;
  DnnGraph::Pass pass;
  std::shared_ptr<PlanWorkshop::Convolution> convolution;
  char *x = nullptr, *w = nullptr, *y = nullptr, *workspace = nullptr;
  std::size_t x_count = 0, w_count = 0, y_count = 0;

  void run(Context& c) const {
    convolution->plan->run(c.dnn, {{convolution->x.uid, x}, {convolution->w.uid, w}, {convolution->y.uid, y}}, workspace, c.stream.get());
  }
};

Check check_convolution(Context& c, const Operands& o) {
  char* result = o.pass == DnnGraph::Pass::forward ? o.y : o.pass == DnnGraph::Pass::input_gradient ? o.x : o.w;
  const std::size_t count = o.pass == DnnGraph::Pass::forward ? o.y_count : o.pass == DnnGraph::Pass::input_gradient ? o.x_count : o.w_count;
  poison(result, count * 2, c.stream.get());
  o.run(c);
  const auto bf16 = [](const char* data) { return reinterpret_cast<const __nv_bfloat16*>(data); };
  return {sampled_error(c, ExpectedConvolution{o.g, o.pass, bf16(o.x), bf16(o.w), bf16(o.y)}, count, 64), 1e-2};
}

}  // namespace

Task prepare_convolution(Context& c, PlanWorkshop& workshop, const Key& key) {
  auto o = std::make_shared<Operands>();
  o->g = {.batch = key.size("batch"), .in = key.size("in_channels"), .out = key.size("out_channels"), .size = key.size("height"), .kernel = key.size("kernel"),
          .stride = key.size("stride"), .padding = key.size("padding"), .out_size = 0};
  o->g.out_size = (o->g.size + 2 * o->g.padding - o->g.kernel) / o->g.stride + 1;
  const std::string& pass = key.label("pass");
  o->pass = pass == "forward" ? DnnGraph::Pass::forward : pass == "input_gradient" ? DnnGraph::Pass::input_gradient : DnnGraph::Pass::weight_gradient;
  try {
    o->convolution = workshop.convolution(key);
  } catch (const DnnUnsupported& unsupported) {
    throw Waived{unsupported.reason};
  }
  const auto random = [&](std::int64_t elements, std::size_t& count) {
    count = static_cast<std::size_t>(elements);
    char* data = c.pool.take(count * 2);
    fill_random(data, count, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
    return data;
  };
  o->x = random(o->g.batch * o->g.size * o->g.size * o->g.in, o->x_count);
  o->w = random(o->g.out * o->g.kernel * o->g.kernel * o->g.in, o->w_count);
  o->y = random(o->g.batch * o->g.out_size * o->g.out_size * o->g.out, o->y_count);
  o->workspace = c.pool.take(o->convolution->plan->workspace_bytes() + 256);
  return {.timing = DeviceTimed{[o, &c](int) { o->run(c); }}, .synchronize = c.synchronizer(), .check = [o, &c] { return check_convolution(c, *o); }, .probe = c.probe(), .holds = o};
}

}  // namespace sgsim::calibrate
