// Copies: "cast_to_bfloat16" (4 bytes in, 2 out), "cast_to_float32" (2 in, 4 out), "copy" (device to device by the runtime).
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256;

__global__ void to_bfloat16_kernel(const Pack4* in, Pack* out, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  const Pack4 a = in[2 * i], b = in[2 * i + 1];
  Pack r;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    r.v[e] = __float2bfloat16(a.v[e]);
    r.v[e + 4] = __float2bfloat16(b.v[e]);
  }
  out[i] = r;
}

__global__ void to_float32_kernel(const Pack* in, Pack4* out, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= packs) return;
  const Pack p = in[i];
  Pack4 a, b;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    a.v[e] = __bfloat162float(p.v[e]);
    b.v[e] = __bfloat162float(p.v[e + 4]);
  }
  out[2 * i] = a;
  out[2 * i + 1] = b;
}

template <class In, class Out>
struct Expected {
  const In* in;
  const Out* out;
  __device__ ExpectedAndGot operator()(std::size_t i) const { return {to_double(in[i]), to_double(out[i])}; }
};

struct State {
  std::int64_t elements = 0;
  Rotated in, out;
};

}  // namespace

std::optional<Task> make_copy(Context& c, const Key& key) {
  if (!key.is("kind", "copy")) return std::nullopt;
  const bool down = key.is("op", "cast_to_bfloat16"), up = key.is("op", "cast_to_float32");
  const double each = down || up ? 6.0 : 8.0;
  auto s = std::make_shared<State>();
  s->elements = elements_for(key, each);
  const auto count = static_cast<std::size_t>(s->elements);
  const Rotation rotation(c, count * static_cast<std::size_t>(each));
  s->in = random_rotated(c, rotation, count, up ? Element::bfloat16 : Element::float32);
  const std::size_t out_bytes = count * (down ? 2 : 4);
  s->out = take_rotated(c, rotation, out_bytes);
  poison(s->out.data, out_bytes, c.stream.get());
  const auto launch = [down, up](const State& st, std::size_t set, cudaStream_t stream) {
    const std::int64_t packs = st.elements / kPack;
    const auto blocks = static_cast<unsigned>((packs + kThreads - 1) / kThreads);
    if (down) {
      to_bfloat16_kernel<<<blocks, kThreads, 0, stream>>>(st.in.set<const Pack4>(set), st.out.set<Pack>(set), packs);
    } else if (up) {
      to_float32_kernel<<<blocks, kThreads, 0, stream>>>(st.in.set<const Pack>(set), st.out.set<Pack4>(set), packs);
    } else {
      check_cuda(cudaMemcpyAsync(st.out.set<char>(set), st.in.set<char>(set), static_cast<std::size_t>(st.elements) * 4, cudaMemcpyDeviceToDevice, stream), "copy");
    }
  };
  const auto check = [down, up, count, &c](const State& st) {
    if (down) return Check{sampled_error(c, Expected<float, __nv_bfloat16>{st.in.set<const float>(0), st.out.set<const __nv_bfloat16>(0)}, count), kBfloat16Tolerance};
    if (up) return Check{sampled_error(c, Expected<__nv_bfloat16, float>{st.in.set<const __nv_bfloat16>(0), st.out.set<const float>(0)}, count), 0.0};
    return Check{sampled_error(c, Expected<float, float>{st.in.set<const float>(0), st.out.set<const float>(0)}, count), 0.0};
  };
  return memory_task(c, s, rotation, each * static_cast<double>(s->elements), launch, check);
}

}  // namespace sgsim::calibrate
