// Attention as separate kernels: scores = q k^T (batched), softmax of scaled and causally masked scores, result = p v (batched).
// Labels and sizes as in attention.cpp, kernel "unfused".
#include "calibrate/bench/cases/memory.cuh"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256;

/// In place, one block a row of `length` scores; columns past the row get 0.
__global__ void masked_softmax_kernel(__nv_bfloat16* scores, int length, float scale) {
  __nv_bfloat16* row = scores + static_cast<std::int64_t>(blockIdx.x) * length;
  const int last = static_cast<int>(blockIdx.x) % length;
  float largest = -INFINITY;
  for (int j = static_cast<int>(threadIdx.x); j <= last; j += kThreads) largest = fmaxf(largest, __bfloat162float(row[j]) * scale);
  largest = block_reduce(largest, -INFINITY, fmaxf);
  float sum = 0.0F;
  for (int j = static_cast<int>(threadIdx.x); j <= last; j += kThreads) sum += __expf(__bfloat162float(row[j]) * scale - largest);
  sum = block_reduce(sum, 0.0F, add);
  for (int j = static_cast<int>(threadIdx.x); j < length; j += kThreads) {
    row[j] = __float2bfloat16(j <= last ? __expf(__bfloat162float(row[j]) * scale - largest) / sum : 0.0F);
  }
}

struct State {
  std::int64_t batch = 1, length = 0, head_dim = 0;  // batch * heads
  char *q = nullptr, *k = nullptr, *v = nullptr, *scores = nullptr, *out = nullptr;
  std::unique_ptr<Blas::Plan> first, second;

  void run(cudaStream_t stream) const {
    first->run(q, k, scores, nullptr, stream);
    masked_softmax_kernel<<<static_cast<unsigned>(batch * length), kThreads, 0, stream>>>(reinterpret_cast<__nv_bfloat16*>(scores), static_cast<int>(length),
                                                                                        rsqrtf(static_cast<float>(head_dim)));
    check_launch("start a softmax");
    second->run(scores, v, out, nullptr, stream);
  }
};

struct Expected {
  const __nv_bfloat16 *q, *k, *v, *out;
  std::int64_t length, head_dim;
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto x = static_cast<std::int64_t>(index);
    const std::int64_t d = x % head_dim, i = x / head_dim % length, b = x / (head_dim * length);
    double sum = 0.0, weighted = 0.0;
    for (std::int64_t j = threadIdx.x; j <= i; j += blockDim.x) {
      double score = 0.0;
      for (std::int64_t e = 0; e < head_dim; ++e) score += to_double(q[(b * length + i) * head_dim + e]) * to_double(k[(b * length + j) * head_dim + e]);
      const double p = exp(score * rsqrt(static_cast<double>(head_dim)));
      sum += p;
      weighted += p * to_double(v[(b * length + j) * head_dim + d]);
    }
    sum = block_sum(sum);
    return {block_sum(weighted) / sum, to_double(out[index])};
  }
};

}  // namespace

Task prepare_unfused_attention(Context& c, const Key& key) {
  if (key.size("heads") != key.size("kv_heads") || !key.is("causal", "yes") || key.is("pass", "backward")) throw Waived{"measured forward, causal and without groups only"};
  auto s = std::make_shared<State>();
  s->batch = key.size("batch") * key.size("heads");
  s->length = key.size("length");
  s->head_dim = key.size("head_dim");
  const auto count = static_cast<std::size_t>(s->batch * s->length * s->head_dim);
  for (char** operand : {&s->q, &s->k, &s->v}) {
    *operand = c.pool.take(count * 2);
    fill_random(*operand, count, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
  }
  s->scores = c.pool.take(static_cast<std::size_t>(s->batch * s->length * s->length) * 2);
  s->out = c.pool.take(count * 2);
  s->first = c.blas.plan({.batch = s->batch, .m = s->length, .n = s->length, .k = s->head_dim, .b_transposed = true});
  s->second = c.blas.plan({.batch = s->batch, .m = s->length, .n = s->head_dim, .k = s->length});
  return {.timing = DeviceTimed{[s, &c](int) { s->run(c.stream.get()); }},
          .synchronize = c.synchronizer(),
          .check =
              [s, count, &c] {
                poison(s->out, count * 2, c.stream.get());
                s->run(c.stream.get());
                const auto bf16 = [](const char* data) { return reinterpret_cast<const __nv_bfloat16*>(data); };
                return Check{sampled_error(c, Expected{bf16(s->q), bf16(s->k), bf16(s->v), bf16(s->out), s->length, s->head_dim}, count, 96), 2e-2};
              },
          .probe = c.probe(),
          .holds = s};
}

}  // namespace sgsim::calibrate
