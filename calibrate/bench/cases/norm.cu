// Normalisation over rows, bfloat16 with float32 inside: "layer_norm", "rms_norm" (2 bytes in, 2 out), "rms_norm_backward"
// (gradient of the input: 4 in, 2 out). A block a row.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr float kEpsilon = 1e-5F;
enum class Norm { layer, rms };

template <Norm norm>
__global__ void norm_kernel(const Pack* in, const Pack* weight, Pack* out, int packs) {
  const Pack* row = in + static_cast<std::int64_t>(blockIdx.x) * packs;
  const float columns = static_cast<float>(packs) * 8.0F;
  float x[kRowPacks][8];
  float sum = 0.0F;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    const Pack pack = row[i];
#pragma unroll
    for (int e = 0; e < 8; ++e) sum += x[p][e] = __bfloat162float(pack.v[e]);
  }
  const float mean = norm == Norm::layer ? block_reduce(sum, 0.0F, add) / columns : 0.0F;
  float squares = 0.0F;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    if (static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x) >= packs) break;
#pragma unroll
    for (int e = 0; e < 8; ++e) squares += (x[p][e] - mean) * (x[p][e] - mean);
  }
  const float scale = rsqrtf(block_reduce(squares, 0.0F, add) / columns + kEpsilon);
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    const Pack w = weight[i];
    Pack pack;
#pragma unroll
    for (int e = 0; e < 8; ++e) pack.v[e] = __float2bfloat16((x[p][e] - mean) * scale * __bfloat162float(w.v[e]));
    out[static_cast<std::int64_t>(blockIdx.x) * packs + i] = pack;
  }
}

// dx = r (w dy - x r^2 mean(w dy x)), r = 1 / rms
__global__ void rms_backward_kernel(const Pack* in, const Pack* gradient, const Pack* weight, Pack* out, int packs) {
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * packs;
  const float columns = static_cast<float>(packs) * 8.0F;
  float x[kRowPacks][8], g[kRowPacks][8];
  float squares = 0.0F, product = 0.0F;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    const Pack a = in[base + i], b = gradient[base + i], w = weight[i];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      x[p][e] = __bfloat162float(a.v[e]);
      g[p][e] = __bfloat162float(b.v[e]) * __bfloat162float(w.v[e]);
      squares += x[p][e] * x[p][e];
      product += x[p][e] * g[p][e];
    }
  }
  const float r = rsqrtf(block_reduce(squares, 0.0F, add) / columns + kEpsilon);
  const float mean = block_reduce(product, 0.0F, add) / columns;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    Pack pack;
#pragma unroll
    for (int e = 0; e < 8; ++e) pack.v[e] = __float2bfloat16(r * (g[p][e] - x[p][e] * r * r * mean));
    out[base + i] = pack;
  }
}

struct Expected {
  const __nv_bfloat16 *in, *gradient, *weight, *out;
  std::int64_t columns;
  Norm norm;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t first = static_cast<std::int64_t>(i) / columns * columns, column = static_cast<std::int64_t>(i) % columns;
    const auto n = static_cast<double>(columns);
    double sum = 0.0, squares = 0.0, product = 0.0;
    for (std::int64_t j = threadIdx.x; j < columns; j += blockDim.x) {
      const double x = to_double(in[first + j]);
      sum += x;
      squares += x * x;
      if (gradient != nullptr) product += x * to_double(gradient[first + j]) * to_double(weight[j]);
    }
    const double mean = norm == Norm::layer ? block_sum(sum) / n : 0.0;
    const double r = 1.0 / sqrt(block_sum(squares) / n - mean * mean + static_cast<double>(kEpsilon));
    const double x = to_double(in[i]), w = to_double(weight[column]);
    if (gradient == nullptr) return {(x - mean) * r * w, to_double(out[i])};
    return {r * (to_double(gradient[i]) * w - x * r * r * block_sum(product) / n), to_double(out[i])};
  }
};

struct State {
  Rows rows;
  Rotated in, gradient, weight, out;
};

}  // namespace

std::optional<Task> make_norm(Context& c, const Key& key) {
  if (!key.is("kind", "norm")) return std::nullopt;
  const bool backward = key.is("op", "rms_norm_backward");
  const Norm norm = key.is("op", "layer_norm") ? Norm::layer : Norm::rms;
  const double each = backward ? 6.0 : 4.0;
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, each);
  SGSIM_CHECK(s->rows.columns <= 1024 * kPack * kRowPacks && s->rows.columns % kPack == 0, "a row fits the block's registers");
  const Rotation rotation(c, s->rows.elements() * static_cast<std::size_t>(each));
  s->in = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  if (backward) s->gradient = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  s->weight = random_rotated(c, rotation, static_cast<std::size_t>(s->rows.columns), Element::bfloat16);
  s->out = take_rotated(c, rotation, s->rows.elements() * 2);
  poison(s->out.data, s->rows.elements() * 2, c.stream.get());
  const auto launch = [backward, norm](const State& st, std::size_t set, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(st.rows.rows);
    const int threads = row_threads(st.rows.columns), packs = static_cast<int>(st.rows.columns / kPack);
    const Pack *in = st.in.set<const Pack>(set), *weight = st.weight.set<const Pack>(0);
    if (backward) {
      rms_backward_kernel<<<blocks, threads, 0, stream>>>(in, st.gradient.set<const Pack>(set), weight, st.out.set<Pack>(set), packs);
    } else if (norm == Norm::layer) {
      norm_kernel<Norm::layer><<<blocks, threads, 0, stream>>>(in, weight, st.out.set<Pack>(set), packs);
    } else {
      norm_kernel<Norm::rms><<<blocks, threads, 0, stream>>>(in, weight, st.out.set<Pack>(set), packs);
    }
  };
  const auto check = [backward, norm, &c](const State& st) {
    const Expected expected{st.in.set<const __nv_bfloat16>(0), backward ? st.gradient.set<const __nv_bfloat16>(0) : nullptr,
                            st.weight.set<const __nv_bfloat16>(0), st.out.set<const __nv_bfloat16>(0), st.rows.columns, norm};
    return Check{sampled_error(c, expected, st.rows.elements()), kBfloat16Tolerance};
  };
  return memory_task(c, s, rotation, each * static_cast<double>(s->rows.elements()), launch, check);
}

}  // namespace sgsim::calibrate
