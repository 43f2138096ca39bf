// Max pooling 3 x 3, stride 2, padding 1, NHWC, bfloat16, 112 x 112 images of `columns` channels, as ResNet's stem: 2 bytes in,
// half a byte out for each input element.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kSize = 112, kOut = 56, kThreads = 256;

__global__ void max_pool_kernel(const Pack* in, Pack* out, std::int64_t results, int packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= results) return;
  const std::int64_t pack = i % packs, q = i / packs % kOut, p = i / (static_cast<std::int64_t>(packs) * kOut) % kOut;
  const std::int64_t n = i / (static_cast<std::int64_t>(packs) * kOut * kOut);
  float largest[8];
#pragma unroll
  for (int e = 0; e < 8; ++e) largest[e] = -INFINITY;
#pragma unroll
  for (int r = -1; r <= 1; ++r) {
#pragma unroll
    for (int s = -1; s <= 1; ++s) {
      const std::int64_t h = 2 * p + r, w = 2 * q + s;
      if (h < 0 || h >= kSize || w < 0 || w >= kSize) continue;
      const Pack x = in[((n * kSize + h) * kSize + w) * packs + pack];
#pragma unroll
      for (int e = 0; e < 8; ++e) largest[e] = fmaxf(largest[e], __bfloat162float(x.v[e]));
    }
  }
  Pack result;
#pragma unroll
  for (int e = 0; e < 8; ++e) result.v[e] = __float2bfloat16(largest[e]);
  out[i] = result;
}

struct Expected {
  const __nv_bfloat16 *in, *out;
  std::int64_t channels;
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t c = i % channels, q = i / channels % kOut, p = i / (channels * kOut) % kOut, n = i / (channels * kOut * kOut);
    double largest = -INFINITY;
    for (std::int64_t h = max(2 * p - 1, std::int64_t{0}); h <= min(2 * p + 1, std::int64_t{kSize - 1}); ++h) {
      for (std::int64_t w = max(2 * q - 1, std::int64_t{0}); w <= min(2 * q + 1, std::int64_t{kSize - 1}); ++w) {
        largest = fmax(largest, to_double(in[((n * kSize + h) * kSize + w) * channels + c]));
      }
    }
    return {largest, to_double(out[i])};
  }
};

struct State {
  std::int64_t images = 1, channels = 64;
  Rotated in, out;
  [[nodiscard]] std::size_t in_elements() const { return static_cast<std::size_t>(images * kSize * kSize * channels); }
  [[nodiscard]] std::size_t out_elements() const { return static_cast<std::size_t>(images * kOut * kOut * channels); }
};

}  // namespace

std::optional<Task> make_pooling(Context& c, const Key& key) {
  if (!key.is("kind", "pooling")) return std::nullopt;
  auto s = std::make_shared<State>();
  s->channels = key.size("columns");
  const double image_bytes = 2.0 * static_cast<double>(s->channels) * (kSize * kSize + kOut * kOut);
  s->images = static_cast<std::int64_t>(static_cast<double>(key.size("bytes")) / image_bytes + 0.5);
  if (s->images == 0) throw Waived{"less than one image"};
  const Rotation rotation(c, s->in_elements() * 3);
  s->in = random_rotated(c, rotation, s->in_elements(), Element::bfloat16);
  s->out = take_rotated(c, rotation, s->out_elements() * 2);
  poison(s->out.data, s->out_elements() * 2, c.stream.get());
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    const auto results = static_cast<std::int64_t>(st.out_elements()) / kPack;
    max_pool_kernel<<<static_cast<unsigned>((results + kThreads - 1) / kThreads), kThreads, 0, stream>>>(st.in.set<const Pack>(set), st.out.set<Pack>(set), results,
                                                                                                       static_cast<int>(st.channels / kPack));
  };
  const auto check = [&c](const State& st) {
    return Check{sampled_error(c, Expected{st.in.set<const __nv_bfloat16>(0), st.out.set<const __nv_bfloat16>(0), st.channels}, st.out_elements()), 0.0};
  };
  return memory_task(c, s, rotation, image_bytes * static_cast<double>(s->images), launch, check);
}

}  // namespace sgsim::calibrate
