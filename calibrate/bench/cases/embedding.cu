// Rows by index, bfloat16: "gather" (an embedding: a row read, a row written), "permute_rows" (the same within one matrix, as a
// mixture of experts sorts tokens), "scatter_add" (the embedding's gradient: a row read, added to float32 rows by atomics;
// 2 bytes read, 8 read and written an element). A block a row.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr std::int64_t kVocabulary = 65536;

__global__ void gather_kernel(const Pack* table, const std::int64_t* index, Pack* out, int packs) {
  const Pack* row = table + index[blockIdx.x] * packs;
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += static_cast<int>(blockDim.x)) out[static_cast<std::int64_t>(blockIdx.x) * packs + i] = row[i];
}

__global__ void scatter_add_kernel(const Pack* gradient, const std::int64_t* index, float* table, int packs) {
  float* row = table + index[blockIdx.x] * packs * 8;
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += static_cast<int>(blockDim.x)) {
    const Pack p = gradient[static_cast<std::int64_t>(blockIdx.x) * packs + i];
#pragma unroll
    for (int e = 0; e < 8; e += 4) {
#if __CUDA_ARCH__ >= 900
      atomicAdd(reinterpret_cast<float4*>(row + i * 8 + e),
                make_float4(__bfloat162float(p.v[e]), __bfloat162float(p.v[e + 1]), __bfloat162float(p.v[e + 2]), __bfloat162float(p.v[e + 3])));
#else
      for (int f = e; f < e + 4; ++f) atomicAdd(row + i * 8 + f, __bfloat162float(p.v[f]));
#endif
    }
  }
}

struct ExpectedGather {
  const __nv_bfloat16 *table, *out;
  const std::int64_t* index;
  std::int64_t columns;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t row = static_cast<std::int64_t>(i) / columns, column = static_cast<std::int64_t>(i) % columns;
    return {to_double(table[index[row] * columns + column]), to_double(out[i])};
  }
};
/// Of the row that gradient row i / columns was added to: everything that was added there.
struct ExpectedScatter {
  const __nv_bfloat16* gradient;
  const float* table;
  const std::int64_t* index;
  Rows rows;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t target = index[static_cast<std::int64_t>(i) / rows.columns], column = static_cast<std::int64_t>(i) % rows.columns;
    double sum = 0.0;
    for (std::int64_t r = threadIdx.x; r < rows.rows; r += blockDim.x) {
      if (index[r] == target) sum += to_double(gradient[r * rows.columns + column]);
    }
    return {block_sum(sum), static_cast<double>(table[target * rows.columns + column])};
  }
};

struct State {
  Rows rows;
  std::int64_t table_rows = kVocabulary;
  char* table = nullptr;
  Rotated in, out;
  std::int64_t* index = nullptr;  // one list a set
  [[nodiscard]] const std::int64_t* of(std::size_t set) const { return index + static_cast<std::size_t>(rows.rows) * set; }
};

}  // namespace

std::optional<Task> make_embedding(Context& c, const Key& key) {
  const bool scatter = key.is("kind", "embedding_gradient"), permute = key.is("kind", "gather_scatter");
  if (!scatter && !permute && !key.is("kind", "embedding")) return std::nullopt;
  const double each = scatter ? 10.0 : 4.0;
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, each);
  if (permute) s->table_rows = s->rows.rows;
  const auto columns = static_cast<std::size_t>(s->rows.columns), rows = static_cast<std::size_t>(s->rows.rows);
  const std::size_t table_bytes = static_cast<std::size_t>(s->table_rows) * columns * (scatter ? 4 : 2);
  s->table = c.pool.take(table_bytes);
  const Rotation rotation(c, s->rows.elements() * 4);
  s->index = reinterpret_cast<std::int64_t*>(c.pool.take(rows * 8 * rotation.sets()));
  fill_indices(s->index, rows * rotation.sets(), s->table_rows, c.seed++, c.stream.get());
  const double bytes = each * static_cast<double>(s->rows.elements());
  if (scatter) {
    check_cuda(cudaMemsetAsync(s->table, 0, table_bytes, c.stream.get()), "clear a gradient");
    s->in = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
    const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
      scatter_add_kernel<<<static_cast<unsigned>(st.rows.rows), row_threads(st.rows.columns), 0, stream>>>(
          st.in.set<const Pack>(set), st.of(set), reinterpret_cast<float*>(st.table), static_cast<int>(st.rows.columns / kPack));
    };
    const auto check = [&c](const State& st) {
      const ExpectedScatter expected{st.in.set<const __nv_bfloat16>(0), reinterpret_cast<const float*>(st.table), st.of(0), st.rows};
      return Check{sampled_error(c, expected, st.rows.elements(), 64), 1e-3};
    };
    return memory_task(c, s, rotation, bytes, launch, check);
  }
  fill_random(s->table, table_bytes / 2, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
  s->out = take_rotated(c, rotation, s->rows.elements() * 2);
  poison(s->out.data, s->rows.elements() * 2, c.stream.get());
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    gather_kernel<<<static_cast<unsigned>(st.rows.rows), row_threads(st.rows.columns), 0, stream>>>(reinterpret_cast<const Pack*>(st.table), st.of(set), st.out.set<Pack>(set),
                                                                                                   static_cast<int>(st.rows.columns / kPack));
  };
  const auto check = [&c](const State& st) {
    const ExpectedGather expected{reinterpret_cast<const __nv_bfloat16*>(st.table), st.out.set<const __nv_bfloat16>(0), st.of(0), st.rows.columns};
    return Check{sampled_error(c, expected, st.rows.elements()), 0.0};  // copied bits
  };
  return memory_task(c, s, rotation, bytes, launch, check);
}

}  // namespace sgsim::calibrate
