// Matrix products through cuBLAS, as PyTorch calls it. Labels: dtype, layout (of a and b, row-major; t: transposed),
// epilogue "bias" for addmm; set "warm": operands left in the L2 cache, "sustained": repeated for half a second. Sizes: batch,
// m, n, k.
#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/cases/sampled.cuh"

namespace sgsim::calibrate {
namespace {

template <class In, class Out>
struct ExpectedProduct {
  Product p;
  const In *a, *b;
  const Out *out, *bias;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t n = p.n, m = p.m, k = p.k;
    const std::int64_t column = static_cast<std::int64_t>(i) % n, row = static_cast<std::int64_t>(i) / n % m, batch = static_cast<std::int64_t>(i) / (n * m);
    const In* left = a + batch * m * k;
    const In* right = b + batch * k * n;
    double sum = 0.0;
    for (std::int64_t j = threadIdx.x; j < k; j += blockDim.x) {
      const In x = p.a_transposed ? left[j * m + row] : left[row * k + j];
      const In y = p.b_transposed ? right[column * k + j] : right[j * n + column];
      sum += to_double(x) * to_double(y);
    }
    sum = block_sum(sum);
    if (bias != nullptr) sum += to_double(bias[column]);
    return {sum, to_double(out[i])};
  }
};

struct Operands {
  Product product;
  std::unique_ptr<Blas::Plan> plan;
  char *a = nullptr, *b = nullptr, *out = nullptr, *bias = nullptr;
  std::size_t a_bytes = 0, b_bytes = 0, out_bytes = 0;
  Rotation rotation;

  Operands(Context& c, const Product& p, bool warm) : product(p), rotation(c, warm ? 4 * c.l2_bytes : set_bytes(p)) {
    const auto batch = static_cast<std::size_t>(p.batch), m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n), k = static_cast<std::size_t>(p.k);
    a_bytes = align(batch * m * k * size_of(p.element));
    b_bytes = align(batch * k * n * size_of(p.element));
    out_bytes = align(batch * m * n * size_of(p.out_element()));
    a = c.pool.take(a_bytes * rotation.sets());
    b = c.pool.take(b_bytes * rotation.sets());
    out = c.pool.take(out_bytes * rotation.sets());
    bias = c.pool.take(n * 4);
    fill_random(a, a_bytes * rotation.sets() / size_of(p.element), p.element, c.seed++, 1.0F, c.stream.get());
    fill_random(b, b_bytes * rotation.sets() / size_of(p.element), p.element, c.seed++, 1.0F, c.stream.get());
    fill_random(bias, n, p.out_element(), c.seed++, 1.0F, c.stream.get());
  }
  static std::size_t align(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  static std::size_t set_bytes(const Product& p) {
    return static_cast<std::size_t>(p.batch) * static_cast<std::size_t>(p.m * p.k + p.k * p.n + p.m * p.n) * size_of(p.element);
  }
  void run(int repetition, cudaStream_t stream) {
    const std::size_t set = rotation.of(repetition);
    plan->run(a + set * a_bytes, b + set * b_bytes, out + set * out_bytes, bias, stream);
  }
  template <class In, class Out>
  double error(Context& c) const {
    const ExpectedProduct<In, Out> expected{product, reinterpret_cast<const In*>(a), reinterpret_cast<const In*>(b), reinterpret_cast<const Out*>(out),
                                            product.bias ? reinterpret_cast<const Out*>(bias) : nullptr};
    return sampled_error(c, expected, static_cast<std::size_t>(product.batch * product.m * product.n), 128);
  }
};

Check check_product(Context& c, Operands& o) {
  poison(o.out, o.out_bytes, c.stream.get());
  o.run(0, c.stream.get());
  switch (o.product.element) {
    // Tolerances: rounding of the result (2^-9 bfloat16, 2^-11 float16) or of the operands (2^-11 TF32), with room.
    case Element::bfloat16: return {o.error<__nv_bfloat16, __nv_bfloat16>(c), 1e-2};
    case Element::float16: return {o.error<__half, __half>(c), 3e-3};
    case Element::float32: return {o.error<float, float>(c), 3e-3};
    case Element::float8_e4m3: return {o.error<__nv_fp8_e4m3, __nv_bfloat16>(c), 1e-2};
    case Element::int64: break;
  }
  throw InternalError("no check for this type");
}

}  // namespace

Task prepare_matmul(Context& c, const Key& key) {
  const std::string& layout = key.label("layout");
  const Product product{.batch = key.size("batch"), .m = key.size("m"), .n = key.size("n"), .k = key.size("k"), .a_transposed = layout[0] == 't',
                        .b_transposed = layout[1] == 't', .element = element_of(key.label("dtype")), .bias = key.is("epilogue", "bias")};
  auto operands = std::make_shared<Operands>(c, product, key.is("set", "warm"));
  try {
    operands->plan = c.blas.plan(product);
  } catch (const Blas::Unsupported& unsupported) {
    throw Waived{unsupported.reason};
  }
  return {.timing = DeviceTimed{[operands, &c](int r) { operands->run(r, c.stream.get()); }},
          .synchronize = c.synchronizer(),
          .check = [operands, &c] { return check_product(c, *operands); },
          .sustain_seconds = key.is("set", "sustained") ? 0.5 : 0.0,
          .rest_seconds = key.is("set", "cool") ? 0.02 : 0.0,
          .probe = c.probe(),
          .holds = operands};
}

}  // namespace sgsim::calibrate
