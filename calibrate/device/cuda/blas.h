#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <memory>
#include <string>

#include "calibrate/device/cuda/cuda.h"
#include "calibrate/device/cuda/fill.h"

namespace sgsim::calibrate {

/// out[batch, m, n] = a[batch, m, k] * b[batch, k, n], row-major; `a_transposed`: a is stored [k, m]; `b_transposed`: b is
/// stored [n, k]. Float32 operands multiply as TF32. FP8 needs a as it is and b transposed; its result is bfloat16.
struct Product {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  Element element = Element::bfloat16;
  bool bias = false;  // out[.., j] += bias[j]
  [[nodiscard]] Element out_element() const { return element == Element::float8_e4m3 ? Element::bfloat16 : element; }
};

/// cuBLAS as PyTorch calls it: cublasGemmEx (strided batched) with a 32 MiB workspace; cublasLt with its first heuristic
/// result where an epilogue or FP8 needs it.
class Blas {
 public:
  Blas();
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  [[nodiscard]] std::string version() const;

  /// Products of one shape, ready to run. Throws Unsupported when the library has no kernel for it.
  class Plan {
   public:
    virtual ~Plan() = default;
    virtual void run(const void* a, const void* b, void* out, const void* bias, cudaStream_t stream) = 0;
  };
  struct Unsupported {
    std::string reason;
  };
  [[nodiscard]] std::unique_ptr<Plan> plan(const Product& product);

 private:
  cublasHandle_t blas_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  DeviceBuffer workspace_;
  DeviceBuffer one_;  // a float 1.0: FP8 scales
};

}  // namespace sgsim::calibrate
