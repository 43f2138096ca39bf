#include "calibrate/bench/cases/reference_attention.h"

#include "calibrate/bench/cases/sampled.cuh"

namespace sgsim::calibrate {
namespace {

// Element [batch, length, head, dim] of a tensor with `heads` heads.
template <class T>
struct View {
  const T* data;
  std::int64_t length, heads, dim;
  __device__ double at(std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) const { return to_double(data[((b * length + i) * heads + h) * dim + d]); }
};

template <class T>
struct Problem {
  SdpaShape s;
  double scale;
  View<T> q, k, v, out, d_out, dq, dk, dv;
  const T* mask;
  const float* stats;

  __device__ double score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (s.causal && j > i) return -INFINITY;
    double sum = 0.0;
    const std::int64_t g = h / (s.heads / s.kv_heads);
    for (std::int64_t d = 0; d < s.head_dim; ++d) sum += q.at(b, i, h, d) * k.at(b, j, g, d);
    return sum * scale + (mask != nullptr ? to_double(mask[i * s.length + j]) : 0.0);
  }
  __device__ double probability(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return exp(score(b, h, i, j) - static_cast<double>(stats[(b * s.heads + h) * s.length + i]));
  }
  /// dS[i, j] * scale, from the forward pass's statistics.
  __device__ double score_gradient(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (s.causal && j > i) return 0.0;
    const std::int64_t g = h / (s.heads / s.kv_heads);
    double dp = 0.0, sum = 0.0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      dp += d_out.at(b, i, h, d) * v.at(b, j, g, d);
      sum += d_out.at(b, i, h, d) * out.at(b, i, h, d);
    }
    return probability(b, h, i, j) * (dp - sum) * scale;
  }
  struct Place {
    std::int64_t b, i, h, d;
  };
  __device__ Place place(std::size_t index, std::int64_t heads) const {
    const auto x = static_cast<std::int64_t>(index);
    return {x / (s.head_dim * heads * s.length), x / (s.head_dim * heads) % s.length, x / s.head_dim % heads, x % s.head_dim};
  }
};

template <class T>
struct ExpectedOut {
  Problem<T> p;
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto at = p.place(index, p.s.heads);
    double largest = -INFINITY;
    for (std::int64_t j = threadIdx.x; j < p.s.length; j += blockDim.x) largest = fmax(largest, p.score(at.b, at.h, at.i, j));
    largest = block_max(largest);
    double sum = 0.0, weighted = 0.0;
    for (std::int64_t j = threadIdx.x; j < p.s.length; j += blockDim.x) {
      const double e = exp(p.score(at.b, at.h, at.i, j) - largest);
      sum += e;
      weighted += e * p.v.at(at.b, j, at.h / (p.s.heads / p.s.kv_heads), at.d);
    }
    sum = block_sum(sum);
    weighted = block_sum(weighted);
    return {weighted / sum, p.out.at(at.b, at.i, at.h, at.d)};
  }
};

template <class T>
struct ExpectedDq {
  Problem<T> p;
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto at = p.place(index, p.s.heads);
    double sum = 0.0;
    for (std::int64_t j = threadIdx.x; j < p.s.length; j += blockDim.x) {
      sum += p.score_gradient(at.b, at.h, at.i, j) * p.k.at(at.b, j, at.h / (p.s.heads / p.s.kv_heads), at.d);
    }
    return {block_sum(sum), p.dq.at(at.b, at.i, at.h, at.d)};
  }
};

/// Key (`of_key`) or value gradient of one element: all queries of all heads of the group add to it.
template <class T>
struct ExpectedDkv {
  Problem<T> p;
  bool of_key;
  __device__ ExpectedAndGot operator()(std::size_t index) const {
    const auto at = p.place(index, p.s.kv_heads);
    const std::int64_t group = p.s.heads / p.s.kv_heads;
    double sum = 0.0;
    for (std::int64_t r = threadIdx.x; r < group * p.s.length; r += blockDim.x) {
      const std::int64_t h = at.h * group + r / p.s.length, i = r % p.s.length;
      if (p.s.causal && i < at.i) continue;
      sum += of_key ? p.score_gradient(at.b, h, i, at.i) * p.q.at(at.b, i, h, at.d) : p.probability(at.b, h, i, at.i) * p.d_out.at(at.b, i, h, at.d);
    }
    return {block_sum(sum), of_key ? p.dk.at(at.b, at.i, at.h, at.d) : p.dv.at(at.b, at.i, at.h, at.d)};
  }
};

template <class T>
Problem<T> problem(const SdpaShape& s, const SdpaMemory& m) {
  const auto view = [&](const void* data, std::int64_t heads) { return View<T>{static_cast<const T*>(data), s.length, heads, s.head_dim}; };
  return {s, static_cast<double>(sdpa_scale(s)), view(m.q, s.heads), view(m.k, s.kv_heads), view(m.v, s.kv_heads), view(m.out, s.heads), view(m.d_out, s.heads),
          view(m.dq, s.heads), view(m.dk, s.kv_heads), view(m.dv, s.kv_heads), s.dense_mask ? static_cast<const T*>(m.mask) : nullptr,
          static_cast<const float*>(m.stats)};
}

constexpr int kSamples = 96;

template <class T>
double forward_error(Context& c, const SdpaShape& s, const SdpaMemory& m) {
  return sampled_error(c, ExpectedOut<T>{problem<T>(s, m)}, s.q_elements(), kSamples);
}
template <class T>
SdpaGradientErrors backward_error(Context& c, const SdpaShape& s, const SdpaMemory& m) {
  const Problem<T> p = problem<T>(s, m);
  return {.dq = sampled_error(c, ExpectedDq<T>{p}, s.q_elements(), kSamples), .dk = sampled_error(c, ExpectedDkv<T>{p, true}, s.kv_elements(), kSamples),
          .dv = sampled_error(c, ExpectedDkv<T>{p, false}, s.kv_elements(), kSamples)};
}

}  // namespace

double sdpa_forward_error(Context& c, const SdpaShape& s, const SdpaMemory& m) {
  return s.element == Element::bfloat16 ? forward_error<__nv_bfloat16>(c, s, m) : forward_error<__half>(c, s, m);
}
SdpaGradientErrors sdpa_backward_error(Context& c, const SdpaShape& s, const SdpaMemory& m) {
  return s.element == Element::bfloat16 ? backward_error<__nv_bfloat16>(c, s, m) : backward_error<__half>(c, s, m);
}

}  // namespace sgsim::calibrate
