// Cross-entropy over a vocabulary, bfloat16 logits, float32 inside: "forward" (2 bytes in; loss and log-sum-exp of a row out),
// "backward" (softmax minus one at the target: 2 in, 2 out). A block a row, one pass with a running maximum.
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 512;

__global__ void forward_kernel(const Pack* logits, const std::int64_t* target, float2* loss_and_lse, int packs) {
  const Pack* row = logits + static_cast<std::int64_t>(blockIdx.x) * packs;
  float largest = -INFINITY, sum = 0.0F;
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += kThreads) {
    const Pack pack = row[i];
    float here = -INFINITY;
#pragma unroll
    for (int e = 0; e < 8; ++e) here = fmaxf(here, __bfloat162float(pack.v[e]));
    if (here > largest) {
      sum *= __expf(largest - here);
      largest = here;
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) sum += __expf(__bfloat162float(pack.v[e]) - largest);
  }
  const float all = block_reduce(largest, -INFINITY, fmaxf);
  sum = block_reduce(largest == -INFINITY ? 0.0F : sum * __expf(largest - all), 0.0F, add);
  if (threadIdx.x == 0) {
    const float lse = all + logf(sum);
    const float picked = __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[target[blockIdx.x]]);
    loss_and_lse[blockIdx.x] = {lse - picked, lse};
  }
}

__global__ void backward_kernel(const Pack* logits, const std::int64_t* target, const float2* loss_and_lse, Pack* gradient, int packs, float scale) {
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * packs;
  const float lse = loss_and_lse[blockIdx.x].y;
  const std::int64_t picked = target[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += kThreads) {
    const Pack pack = logits[base + i];
    Pack result;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float p = __expf(__bfloat162float(pack.v[e]) - lse);
      result.v[e] = __float2bfloat16((p - (i * 8 + e == picked ? 1.0F : 0.0F)) * scale);
    }
    gradient[base + i] = result;
  }
}

struct ExpectedLoss {
  const __nv_bfloat16* logits;
  const std::int64_t* target;
  const float2* loss;
  std::int64_t columns;
  __device__ ExpectedAndGot operator()(std::size_t row) const {
    double sum = 0.0;
    for (std::int64_t j = threadIdx.x; j < columns; j += blockDim.x) sum += exp(to_double(logits[static_cast<std::int64_t>(row) * columns + j]));
    return {log(block_sum(sum)) - to_double(logits[static_cast<std::int64_t>(row) * columns + target[row]]), static_cast<double>(loss[row].x)};
  }
};
struct ExpectedGradient {
  const __nv_bfloat16 *logits, *gradient;
  const std::int64_t* target;
  std::int64_t columns;
  __device__ ExpectedAndGot operator()(std::size_t i) const {
    const std::int64_t row = static_cast<std::int64_t>(i) / columns, column = static_cast<std::int64_t>(i) % columns;
    double sum = 0.0;
    for (std::int64_t j = threadIdx.x; j < columns; j += blockDim.x) sum += exp(to_double(logits[row * columns + j]));
    return {exp(to_double(logits[i])) / block_sum(sum) - (column == target[row] ? 1.0 : 0.0), to_double(gradient[i])};
  }
};

struct State {
  Rows rows;
  Rotated logits, gradient;
  std::int64_t* target = nullptr;
  float2* loss = nullptr;
  [[nodiscard]] int packs() const { return static_cast<int>(rows.columns / kPack); }
};

}  // namespace

std::optional<Task> make_cross_entropy(Context& c, const Key& key) {
  if (!key.is("kind", "cross_entropy")) return std::nullopt;
  const bool backward = key.is("op", "backward");
  const double each = backward ? 4.0 : 2.0;
  auto s = std::make_shared<State>();
  s->rows = rows_for(key, each);
  const auto rows = static_cast<std::size_t>(s->rows.rows);
  const Rotation rotation(c, s->rows.elements() * static_cast<std::size_t>(each));
  s->logits = random_rotated(c, rotation, s->rows.elements(), Element::bfloat16);
  if (backward) s->gradient = take_rotated(c, rotation, s->rows.elements() * 2);
  s->target = reinterpret_cast<std::int64_t*>(c.pool.take(rows * 8));
  s->loss = reinterpret_cast<float2*>(c.pool.take(rows * 8));
  fill_indices(s->target, rows, s->rows.columns, c.seed++, c.stream.get());
  poison(s->loss, rows * 8, c.stream.get());
  if (backward) poison(s->gradient.data, s->rows.elements() * 2, c.stream.get());
  const auto forward = [](const State& st, std::size_t set, cudaStream_t stream) {
    forward_kernel<<<static_cast<unsigned>(st.rows.rows), kThreads, 0, stream>>>(st.logits.set<const Pack>(set), st.target, st.loss, st.packs());
  };
  if (!backward) {
    const auto check = [&c](const State& st) {
      return Check{sampled_error(c, ExpectedLoss{st.logits.set<const __nv_bfloat16>(0), st.target, st.loss, st.rows.columns}, static_cast<std::size_t>(st.rows.rows)), 1e-3};
    };
    return memory_task(c, s, rotation, each * static_cast<double>(s->rows.elements()), forward, check);
  }
  forward(*s, 0, c.stream.get());  // its statistics serve every set: only the check, on set 0, looks at the values
  const auto launch = [](const State& st, std::size_t set, cudaStream_t stream) {
    backward_kernel<<<static_cast<unsigned>(st.rows.rows), kThreads, 0, stream>>>(st.logits.set<const Pack>(set), st.target, st.loss, st.gradient.set<Pack>(set), st.packs(), 1.0F);
  };
  const auto check = [&c](const State& st) {
    const ExpectedGradient expected{st.logits.set<const __nv_bfloat16>(0), st.gradient.set<const __nv_bfloat16>(0), st.target, st.rows.columns};
    return Check{sampled_error(c, expected, st.rows.elements()), 2e-2};  // its largest elements, near -1, may not be sampled
  };
  return memory_task(c, s, rotation, each * static_cast<double>(s->rows.elements()), launch, check);
}

}  // namespace sgsim::calibrate
