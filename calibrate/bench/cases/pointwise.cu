// Elementwise kernels, bfloat16: "gelu" (tanh form; 2 bytes in, 2 out), "add" (4 in, 2 out).
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256, kTurns = 4;

// (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u)).
__device__ float gelu(float x) { return __fdividef(x, 1.0F + __expf(-1.5957691216F * (x + 0.044715F * x * x * x))); }

template <bool two>
__global__ void pointwise_kernel(const Pack* a, const Pack* b, Pack* out, std::int64_t packs) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kTurns) + threadIdx.x;
  Pack x[kTurns], y[kTurns];
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const std::int64_t i = first + t * kThreads;
    if (i < packs) {
      x[t] = a[i];
      if constexpr (two) y[t] = b[i];
    }
  }
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const std::int64_t i = first + t * kThreads;
    if (i >= packs) break;
    Pack r;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float v = __bfloat162float(x[t].v[e]);
      r.v[e] = __float2bfloat16(two ? v + __bfloat162float(y[t].v[e]) : gelu(v));
    }
    out[i] = r;
  }
}

struct Expected {
  const __nv_bfloat16 *a, *b, *out;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const double x = to_double(a[i]);
    const double want = b != nullptr ? x + to_double(b[i]) : 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return {want, to_double(out[i])};
  }
};

struct State {
  std::int64_t elements = 0;
  Rotated a, b, out;
};

}  // namespace

std::optional<Task> make_pointwise(Context& c, const Key& key) {
  if (!key.is("kind", "pointwise")) return std::nullopt;
  const bool two = key.is("op", "add");
  const double each = two ? 6.0 : 4.0;
  auto s = std::make_shared<State>();
  s->elements = elements_for(key, each);
  const auto count = static_cast<std::size_t>(s->elements);
  const Rotation rotation(c, static_cast<std::size_t>(each) * count);
  s->a = random_rotated(c, rotation, count, Element::bfloat16);
  if (two) s->b = random_rotated(c, rotation, count, Element::bfloat16);
  s->out = take_rotated(c, rotation, count * 2);
  poison(s->out.data, count * 2, c.stream.get());
  const auto launch = [two](const State& st, std::size_t set, cudaStream_t stream) {
    const std::int64_t packs = st.elements / kPack;
    const auto blocks = static_cast<unsigned>((packs + kThreads * kTurns - 1) / (kThreads * kTurns));
    if (two) {
      pointwise_kernel<true><<<blocks, kThreads, 0, stream>>>(st.a.set<const Pack>(set), st.b.set<const Pack>(set), st.out.set<Pack>(set), packs);
    } else {
      pointwise_kernel<false><<<blocks, kThreads, 0, stream>>>(st.a.set<const Pack>(set), nullptr, st.out.set<Pack>(set), packs);
    }
  };
  const auto check = [two, &c](const State& st) {
    const Expected expected{st.a.set<const __nv_bfloat16>(0), two ? st.b.set<const __nv_bfloat16>(0) : nullptr, st.out.set<const __nv_bfloat16>(0)};
    return Check{sampled_error(c, expected, static_cast<std::size_t>(st.elements)), kBfloat16Tolerance};
  };
  return memory_task(c, s, rotation, each * static_cast<double>(s->elements), launch, check);
}

}  // namespace sgsim::calibrate
