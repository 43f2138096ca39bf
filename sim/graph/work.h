#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sim/core/quantity.h"
#include "sim/graph/dtype.h"

namespace sgsim::graph {

/// out[batch, m, n] = a[batch, m, k] * b[batch, k, n]; `a_transposed` when a is stored k-major ("T" of BLAS, row-major
/// view), likewise b. A weight gradient is a_transposed; a linear layer's forward (x W^T) is b_transposed.
struct Matmul {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  DType dtype = DType::bfloat16;       // of the operands
  DType out_dtype = DType::bfloat16;
  bool bias = false;                   // addmm: bias added in the epilogue
  auto operator<=>(const Matmul&) const = default;
};

enum class AttentionKind : std::uint8_t { flash };  // unfused attention is matmuls and softmax kernels of its own
enum class Pass : std::uint8_t { forward, backward };
/// softmax(q k^T) v in one kernel. Sizes are one device's: heads after tensor-parallel division.
struct Attention {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, q_len = 0, kv_len = 0, head_dim = 0;
  bool causal = true;
  bool dense_mask = false;  // an explicit mask or bias tensor is read (cuDNN cannot skip blocks)
  DType dtype = DType::bfloat16;
  Pass pass = Pass::forward;
  auto operator<=>(const Attention&) const = default;
};

enum class ConvolutionPass : std::uint8_t { forward, input_gradient, weight_gradient };
struct Convolution {
  std::int64_t batch = 1, in_channels = 0, out_channels = 0, in_height = 0, in_width = 0, kernel_height = 1, kernel_width = 1;
  std::int64_t stride = 1, padding = 0, groups = 1;
  DType dtype = DType::bfloat16;
  ConvolutionPass pass = ConvolutionPass::forward;
  auto operator<=>(const Convolution&) const = default;
};

/// What a bandwidth-bound kernel does, for its efficiency curve.
enum class MemoryKind : std::uint8_t { pointwise, reduction, norm, softmax, cross_entropy, embedding, embedding_gradient, copy, transpose, optimizer, gather_scatter, pooling };
/// A kernel bound by the bytes it moves.
struct MemoryBound {
  MemoryKind kind = MemoryKind::pointwise;
  Bytes read, written;
  Flops flops;  // arithmetic, rarely the bound
  auto operator<=>(const MemoryBound&) const = default;
};

/// What one kernel computes: all that its cost depends on.
using Work = std::variant<Matmul, Attention, Convolution, MemoryBound>;

/// Floating-point operations (a multiply-add is 2; causal attention counts the lower triangle only; flash backward
/// counts its recomputation: 5 products against 2 of the forward pass).
[[nodiscard]] Flops flops_of(const Work& work);
/// Least bytes through device memory: each operand read once, each result written once.
[[nodiscard]] Bytes bytes_of(const Work& work);

}  // namespace sgsim::graph
