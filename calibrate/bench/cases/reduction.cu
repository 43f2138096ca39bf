// Sums of a bfloat16 matrix, float32 inside: "row_sum" (one result a row), "column_sum" (one a column, as a bias gradient:
// partial sums by slices of rows, then atomics into a cleared result).
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

__global__ void row_sum_kernel(const Pack* in, float* out, int packs) {
  const Pack* row = in + static_cast<std::int64_t>(blockIdx.x) * packs;
  float sum = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += static_cast<int>(blockDim.x)) {
    const Pack pack = row[i];
#pragma unroll
    for (int e = 0; e < 8; ++e) sum += __bfloat162float(pack.v[e]);
  }
  sum = block_reduce(sum, 0.0F, add);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void column_sum_kernel(const Pack* in, float* out, std::int64_t rows, int packs, std::int64_t slice_rows) {
  const int pack = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (pack >= packs) return;
  float sum[8] = {};
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * slice_rows;
  const std::int64_t last = min(first + slice_rows, rows);
#pragma unroll 8
  for (std::int64_t r = first; r < last; ++r) {
    const Pack p = in[r * packs + pack];
#pragma unroll
    for (int e = 0; e < 8; ++e) sum[e] += __bfloat162float(p.v[e]);
  }
  float* result = out + pack * 8;
#if __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(result), make_float4(sum[0], sum[1], sum[2], sum[3]));
  atomicAdd(reinterpret_cast<float4*>(result) + 1, make_float4(sum[4], sum[5], sum[6], sum[7]));
#else
#pragma unroll
  for (int e = 0; e < 8; ++e) atomicAdd(result + e, sum[e]);
#endif
}

struct Expected {
  const __nv_bfloat16* in;
  const float* out;
  Rows rows;
  bool of_rows;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    double sum = 0.0;
    const std::int64_t count = of_rows ? rows.columns : rows.rows;
    for (std::int64_t j = threadIdx.x; j < count; j += blockDim.x) {
      sum += to_double(of_rows ? in[static_cast<std::int64_t>(i) * rows.columns + j] : in[j * rows.columns + static_cast<std::int64_t>(i)]);
    }
    return {block_sum(sum), static_cast<double>(out[i])};
  }
};

struct State {
  Rows rows;
  Rotated in;
  float* out = nullptr;
};

}  // namespace

std::optional<Task> make_reduction(Context& c, const Key& key) {
  if (!key.is("kind", "reduction")) return std::nullopt;
  const bool of_rows = key.is("op", "row_sum");
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, 2.0);
  const Rotation rotation(c, s->rows.elements() * 2);
  s->in = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  const std::size_t results = static_cast<std::size_t>(of_rows ? s->rows.rows : s->rows.columns);
  s->out = reinterpret_cast<float*>(c.pool.take(results * 4));
  check_cuda(cudaMemsetAsync(s->out, of_rows ? 0xff : 0, results * 4, c.stream.get()), "clear a result");
  const auto launch = [of_rows](const State& st, std::size_t set, cudaStream_t stream) {
    const int packs = static_cast<int>(st.rows.columns / kPack);
    if (of_rows) {
      row_sum_kernel<<<static_cast<unsigned>(st.rows.rows), row_threads(st.rows.columns), 0, stream>>>(st.in.set<const Pack>(set), st.out, packs);
    } else {
      // At most 128 slices: enough blocks for every SM, and few atomics that meet in a result.
      const auto across = static_cast<unsigned>((packs + 127) / 128);
      const std::int64_t slice_rows = std::max<std::int64_t>(16, (st.rows.rows + 127) / 128);
      const dim3 grid(across, static_cast<unsigned>((st.rows.rows + slice_rows - 1) / slice_rows));
      column_sum_kernel<<<grid, 128, 0, stream>>>(st.in.set<const Pack>(set), st.out, st.rows.rows, packs, slice_rows);
    }
  };
  const auto check = [of_rows, results, &c](const State& st) {
    // Sums of numbers of either sign: the error is measured against the sum's own size.
    return Check{sampled_error(c, Expected{st.in.set<const __nv_bfloat16>(0), st.out, st.rows, of_rows}, results, 64), 1e-3};
  };
  return memory_task(c, s, rotation, 2.0 * static_cast<double>(s->rows.elements()) + 4.0 * static_cast<double>(results), launch, check);
}

}  // namespace sgsim::calibrate
