// Fused AdamW on float32 parameters: parameter, gradient and two moments read (16 bytes), parameter and moments written (12).
// Loshchilov and Hutter 2019, Algorithm 2.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256;
constexpr float kRate = 1e-3F, kBeta1 = 0.9F, kBeta2 = 0.95F, kEps = 1e-8F, kDecay = 0.1F;
constexpr float kCorrection1 = 1.0F - kBeta1, kCorrection2 = 1.0F - kBeta2;  // of step 1

__host__ __device__ inline void adam(float& p, float g, float& m, float& v) {
  p -= kRate * kDecay * p;
  m = kBeta1 * m + (1.0F - kBeta1) * g;
  v = kBeta2 * v + (1.0F - kBeta2) * g * g;
  p -= kRate * (m / kCorrection1) / (sqrtf(v / kCorrection2) + kEps);
}

__global__ void adam_kernel(Pack4* parameter, const Pack4* gradient, Pack4* first, Pack4* second, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  Pack4 p = parameter[i], m = first[i], v = second[i];
  const Pack4 g = gradient[i];
#pragma unroll
  for (int e = 0; e < 4; ++e) adam(p.v[e], g.v[e], m.v[e], v.v[e]);
  parameter[i] = p;
  first[i] = m;
  second[i] = v;
}

/// After one step from moments of zero: p - rate (decay p + sign-like step); recomputed from the untouched copies of set 0.
struct Expected {
  const float *before, *gradient, *after;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const double p = static_cast<double>(before[i]), g = static_cast<double>(gradient[i]);
    const double step = g / (fabs(g) + static_cast<double>(kEps));  // m / c1 = g, sqrt(v / c2) = |g|
    return {p - static_cast<double>(kRate) * (static_cast<double>(kDecay) * p + step), static_cast<double>(after[i])};
  }
};

struct State {
  std::int64_t elements = 0;
  Rotated parameter, gradient, first, second;
  float* before = nullptr;
};

}  // namespace

std::optional<Task> make_optimizer(Context& c, const Key& key) {
  if (!key.is("kind", "optimizer")) return std::nullopt;
  auto s = std::make_shared<State>();
  s->elements = elements_for(key, 28.0);
  const auto count = static_cast<std::size_t>(s->elements);
  s->before = reinterpret_cast<float*>(c.pool.take(count * 4));
  const Rotation rotation(c, count * 16);
  s->parameter = random_rotated(c, rotation, count, Element::float32);
  s->gradient = random_rotated(c, rotation, count, Element::float32);
  s->first = take_rotated(c, rotation, count * 4);
  s->second = take_rotated(c, rotation, count * 4);
  for (const Rotated& moment : {s->first, s->second}) {
    check_cuda(cudaMemsetAsync(moment.data, 0, moment.stride * rotation.sets(), c.stream.get()), "clear moments");
  }
  check_cuda(cudaMemcpyAsync(s->before, s->parameter.data, count * 4, cudaMemcpyDeviceToDevice, c.stream.get()), "copy parameters");
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    const std::int64_t packs = st.elements / 4;
    adam_kernel<<<static_cast<unsigned>((packs + kThreads - 1) / kThreads), kThreads, 0, stream>>>(st.parameter.set<Pack4>(set), st.gradient.set<const Pack4>(set),
                                                                                                 st.first.set<Pack4>(set), st.second.set<Pack4>(set), packs);
  };
  const auto check = [count, &c](const State& st) {
    return Check{sampled_error(c, Expected{st.before, st.gradient.set<const float>(0), st.parameter.set<const float>(0)}, count), 1e-5};
  };
  return memory_task(c, s, rotation, 28.0 * static_cast<double>(s->elements), launch, check);
}

}  // namespace sgsim::calibrate
