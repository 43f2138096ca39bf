#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cost/make/kineto.h"
#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// A kernel's work as a trace shows it: median device time over the calls of one shape.
template <class Work>
struct Traced {
  Work work;
  double us = 0.0;
  int calls = 0;
};

/// Matrix products (aten::mm, aten::addmm) with their layout from the strides. Split-k reductions count to their product.
[[nodiscard]] std::vector<Traced<graph::Matmul>> traced_products(const std::vector<TracedKernel>& kernels);
/// Fused attention through cuDNN, all kernels of a call together.
[[nodiscard]] std::vector<Traced<graph::Attention>> traced_attention(const std::vector<TracedKernel>& kernels);
/// Convolutions, the backward call split into input and weight gradient by its kernels' names.
[[nodiscard]] std::vector<Traced<graph::Convolution>> traced_convolutions(const std::vector<TracedKernel>& kernels);

struct TracedBytes {
  graph::MemoryKind kind = graph::MemoryKind::pointwise;
  double bytes = 0.0, us = 0.0;
};
/// Generated pointwise and reduction kernels (Inductor's Triton) by what their name says they do, with the bytes of their
/// arguments. Left out: kernels that index (their bytes are not their arguments') and rotary embeddings that recompute sine
/// and cosine (bound by arithmetic).
[[nodiscard]] std::vector<TracedBytes> traced_bytes(const std::vector<TracedKernel>& kernels);

}  // namespace sgsim::cost::make
