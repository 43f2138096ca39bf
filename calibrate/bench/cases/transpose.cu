// Transpose of a bfloat16 matrix through shared memory, 64 x 64 tiles: 2 bytes in, 2 out.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kTile = 64, kRowsOfThreads = 8;  // a block is 32 x 8 threads; a thread moves two columns

__global__ void transpose_kernel(const __nv_bfloat162* in, __nv_bfloat162* out, std::int64_t rows, std::int64_t columns) {
  __shared__ __nv_bfloat16 tile[kTile][kTile + 2];
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.y) * kTile, column0 = static_cast<std::int64_t>(blockIdx.x) * kTile;
#pragma unroll
  for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kRowsOfThreads) {
    if (row0 + r < rows) {
      const __nv_bfloat162 pair = in[((row0 + r) * columns + column0) / 2 + threadIdx.x];
      tile[r][2 * threadIdx.x] = pair.x;
      tile[r][2 * threadIdx.x + 1] = pair.y;
    }
  }
  __syncthreads();
#pragma unroll
  for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kRowsOfThreads) {
    const std::int64_t row = row0 + 2 * threadIdx.x;
    if (row < rows) out[((column0 + c) * rows + row) / 2] = __nv_bfloat162(tile[2 * threadIdx.x][c], tile[2 * threadIdx.x + 1][c]);
  }
}

struct Expected {
  const __nv_bfloat16 *in, *out;
  Rows rows;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t row = static_cast<std::int64_t>(i) / rows.columns, column = static_cast<std::int64_t>(i) % rows.columns;
    return {to_double(in[i]), to_double(out[column * rows.rows + row])};
  }
};

struct State {
  Rows rows;
  Rotated in, out;
};

}  // namespace

std::optional<Task> make_transpose(Context& c, const Key& key) {
  if (!key.is("kind", "transpose")) return std::nullopt;
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, 4.0);
  s->rows.rows = std::max<std::int64_t>(kTile, (s->rows.rows + kTile / 2) / kTile * kTile);  // aligned rows, as models have
  const Rotation rotation(c, s->rows.elements() * 4);
  s->in = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  s->out = take_rotated(c, rotation, s->rows.elements() * 2);
  poison(s->out.data, s->rows.elements() * 2, c.stream.get());
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(st.rows.columns / kTile), static_cast<unsigned>((st.rows.rows + kTile - 1) / kTile));
    transpose_kernel<<<grid, dim3(kTile / 2, kRowsOfThreads), 0, stream>>>(st.in.set<const __nv_bfloat162>(set), st.out.set<__nv_bfloat162>(set), st.rows.rows, st.rows.columns);
  };
  const auto check = [&c](const State& st) {
    return Check{sampled_error(c, Expected{st.in.set<const __nv_bfloat16>(0), st.out.set<const __nv_bfloat16>(0), st.rows}, st.rows.elements()), 0.0};
  };
  return memory_task(c, s, rotation, 4.0 * static_cast<double>(s->rows.elements()), launch, check);
}

}  // namespace sgsim::calibrate
