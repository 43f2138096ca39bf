#pragma once

#include <memory>

#include "calibrate/device/cuda/dnn.h"
#include "calibrate/device/cuda/fill.h"

namespace sgsim::calibrate {

/// Fused attention of one shape; tensors lie as PyTorch lays them: [batch, length, heads, head_dim].
struct SdpaShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, length = 0, head_dim = 0;
  bool causal = true;
  bool dense_mask = false;  // an additive mask [1, 1, length, length] of the operands' type is read
  Element element = Element::bfloat16;  // or float16
  [[nodiscard]] std::size_t q_elements() const { return static_cast<std::size_t>(batch * heads * length * head_dim); }
  [[nodiscard]] std::size_t kv_elements() const { return static_cast<std::size_t>(batch * kv_heads * length * head_dim); }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(batch * heads * length); }
};

/// Memory of one attention. The forward pass writes out and stats (log-sum-exp, float32, [batch, heads, length]); the
/// backward pass reads them and writes dq, dk, dv.
struct SdpaMemory {
  void *q = nullptr, *k = nullptr, *v = nullptr, *out = nullptr, *stats = nullptr, *mask = nullptr;
  void *d_out = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// One pass, ready to run. Made as cuDNN's own front end makes it: one graph of matrix products, elementwise operations
/// and reductions that the library recognises as fused attention.
class Sdpa {
 public:
  virtual ~Sdpa() = default;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// `scratch`: scratch_bytes() of device memory, used by one run at a time.
  virtual void run(const Dnn& dnn, const SdpaMemory& memory, void* scratch, cudaStream_t stream) const = 0;
};

/// Throw DnnUnsupported when the library has no engine for the shape.
[[nodiscard]] std::unique_ptr<Sdpa> make_sdpa_forward(const Dnn& dnn, const SdpaShape& shape);
[[nodiscard]] std::unique_ptr<Sdpa> make_sdpa_backward(const Dnn& dnn, const SdpaShape& shape);
/// The engine that cuDNN recommends first; works on a Dnn without a GPU.
[[nodiscard]] std::string recommended_sdpa_engine(const Dnn& dnn, const SdpaShape& shape, bool backward);

/// Softmax scale used by both passes: 1 / sqrt(head_dim).
[[nodiscard]] float sdpa_scale(const SdpaShape& shape);

}  // namespace sgsim::calibrate
