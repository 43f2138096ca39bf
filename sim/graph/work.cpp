#include "sim/graph/work.h"

#include <algorithm>

namespace sgsim::graph {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;  // clang 14 needs it spelled out

double product(std::initializer_list<std::int64_t> factors) {
  double result = 1.0;
  for (const std::int64_t factor : factors) result *= static_cast<double>(factor);
  return result;
}

/// (query, key) pairs that are computed: query i of q sees the first kv - q + i + 1 keys when causal.
double attended_pairs(const Attention& a) {
  if (!a.causal) return product({a.q_len, a.kv_len});
  const auto last_row = static_cast<double>(a.kv_len);
  const double rows = static_cast<double>(std::min(a.q_len, a.kv_len));
  return rows * last_row - rows * (rows - 1.0) / 2.0;
}

Flops attention_flops(const Attention& a) {
  const double products = a.pass == Pass::forward ? 2.0 : 5.0;
  return Flops(products * 2.0 * product({a.batch, a.heads, a.head_dim}) * attended_pairs(a));
}

Bytes attention_bytes(const Attention& a) {
  const double element = size_of(a.dtype);
  const double query = product({a.batch, a.heads, a.q_len, a.head_dim}) * element;
  const double key = product({a.batch, a.kv_heads, a.kv_len, a.head_dim}) * element;
  const double statistics = product({a.batch, a.heads, a.q_len}) * size_of(DType::float32);
  const double mask = a.dense_mask ? product({a.batch, a.q_len, a.kv_len}) * element : 0.0;  // broadcast over heads
  const double forward = 2.0 * query + 2.0 * key + statistics + mask;
  // Backward reads q, k, v, the output, its gradient and the statistics, and writes three gradients.
  return Bytes(a.pass == Pass::forward ? forward : forward + 2.0 * query + 2.0 * key);
}

struct ConvolutionSizes {
  double input, weight, output;  // elements
  double flops;
};

ConvolutionSizes sizes_of(const Convolution& c) {
  const std::int64_t out_height = (c.in_height + 2 * c.padding - c.kernel_height) / c.stride + 1;
  const std::int64_t out_width = (c.in_width + 2 * c.padding - c.kernel_width) / c.stride + 1;
  const double weight = product({c.out_channels, c.in_channels / c.groups, c.kernel_height, c.kernel_width});
  return {.input = product({c.batch, c.in_channels, c.in_height, c.in_width}),
          .weight = weight,
          .output = product({c.batch, c.out_channels, out_height, out_width}),
          .flops = 2.0 * product({c.batch, out_height, out_width}) * weight};
}

}  // namespace

Flops flops_of(const Work& work) {
  return std::visit(Overloaded{[](const Matmul& m) { return Flops(2.0 * product({m.batch, m.m, m.n, m.k})); },
                               [](const Attention& a) { return attention_flops(a); },
                               [](const Convolution& c) { return Flops(sizes_of(c).flops); },
                               [](const MemoryBound& b) { return b.flops; }},
                    work);
}

Bytes bytes_of(const Work& work) {
  return std::visit(
      Overloaded{[](const Matmul& m) {
                   const double operands = product({m.batch, m.m, m.k}) + product({m.batch, m.k, m.n});
                   const double bias = m.bias ? static_cast<double>(m.n) : 0.0;
                   return Bytes((operands + bias) * size_of(m.dtype) + product({m.batch, m.m, m.n}) * size_of(m.out_dtype));
                 },
                 [](const Attention& a) { return attention_bytes(a); },
                 [](const Convolution& c) {  // each pass reads two of the three tensors and writes the third
                   const ConvolutionSizes sizes = sizes_of(c);
                   return Bytes((sizes.input + sizes.weight + sizes.output) * size_of(c.dtype));
                 },
                 [](const MemoryBound& b) { return b.read + b.written; }},
      work);
}

}  // namespace sgsim::graph
