// Softmax over rows, bfloat16 in and out, float32 inside. A block a row; the row stays in registers.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {


__global__ void softmax_kernel(const Pack* in, Pack* out, int packs) {
  const Pack* row = in + static_cast<std::int64_t>(blockIdx.x) * packs;
  Pack* result = out + static_cast<std::int64_t>(blockIdx.x) * packs;
  float x[kRowPacks][8];
  float largest = -INFINITY;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    const Pack pack = row[i];
#pragma unroll
    for (int e = 0; e < 8; ++e) largest = fmaxf(largest, x[p][e] = __bfloat162float(pack.v[e]));
  }
  largest = block_reduce(largest, -INFINITY, fmaxf);
  float sum = 0.0F;
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    if (static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x) >= packs) break;
#pragma unroll
    for (int e = 0; e < 8; ++e) sum += x[p][e] = __expf(x[p][e] - largest);
  }
  const float scale = 1.0F / block_reduce(sum, 0.0F, add);
#pragma unroll
  for (int p = 0; p < kRowPacks; ++p) {
    const int i = static_cast<int>(threadIdx.x) + p * static_cast<int>(blockDim.x);
    if (i >= packs) break;
    Pack pack;
#pragma unroll
    for (int e = 0; e < 8; ++e) pack.v[e] = __float2bfloat16(x[p][e] * scale);
    result[i] = pack;
  }
}

struct Expected {
  const __nv_bfloat16 *in, *out;
  std::int64_t columns;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const __nv_bfloat16* row = in + static_cast<std::int64_t>(i) / columns * columns;
    double sum = 0.0;
    for (std::int64_t j = threadIdx.x; j < columns; j += blockDim.x) sum += exp(to_double(row[j]));
    return {exp(to_double(in[i])) / block_sum(sum), to_double(out[i])};
  }
};

struct State {
  Rows rows;
  Rotated in, out;
};

}  // namespace

std::optional<Task> make_softmax(Context& c, const Key& key) {
  if (!key.is("kind", "softmax")) return std::nullopt;
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, 4.0);
  SGSIM_CHECK(s->rows.columns <= 1024 * kPack * kRowPacks && s->rows.columns % kPack == 0, "a row fits the block's registers");
  const Rotation rotation(c, s->rows.elements() * 4);
  s->in = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  s->out = take_rotated(c, rotation, s->rows.elements() * 2);
  poison(s->out.data, s->rows.elements() * 2, c.stream.get());
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    softmax_kernel<<<static_cast<unsigned>(st.rows.rows), row_threads(st.rows.columns), 0, stream>>>(st.in.set<const Pack>(set), st.out.set<Pack>(set),
                                                                                                    static_cast<int>(st.rows.columns / kPack));
  };
  const auto check = [&c](const State& st) {
    return Check{sampled_error(c, Expected{st.in.set<const __nv_bfloat16>(0), st.out.set<const __nv_bfloat16>(0), st.rows.columns}, st.rows.elements()), kBfloat16Tolerance};
  };
  return memory_task(c, s, rotation, 4.0 * static_cast<double>(s->rows.elements()), launch, check);
}

}  // namespace sgsim::calibrate
