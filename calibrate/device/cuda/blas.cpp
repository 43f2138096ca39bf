#include "calibrate/device/cuda/blas.h"

#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

constexpr std::size_t kWorkspace = 32u << 20;  // PyTorch's on Hopper

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw EnvironmentError(std::string("cuBLAS could not ") + what + ": " + cublasGetStatusString(status));
}

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::float32: return CUDA_R_32F;
    case Element::float16: return CUDA_R_16F;
    case Element::bfloat16: return CUDA_R_16BF;
    case Element::float8_e4m3: return CUDA_R_8F_E4M3;
    case Element::int64: break;
  }
  throw InternalError("no matrix product of this type");
}

// Row-major out = a b is column-major out^T = b^T a^T: the library's first operand is b, n x k; its second is a, k x m.
class GemmPlan final : public Blas::Plan {
 public:
  GemmPlan(cublasHandle_t blas, const Product& p, void* workspace) : blas_(blas), p_(p), workspace_(workspace) {}
  void run(const void* a, const void* b, void* out, const void*, cudaStream_t stream) override {
    check_blas(cublasSetStream(blas_, stream), "select a stream");
    check_blas(cublasSetWorkspace(blas_, workspace_, kWorkspace), "take its workspace");  // selecting a stream drops it
    const float one = 1.0F, zero = 0.0F;
    const cublasOperation_t op_b = p_.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_a = p_.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const auto n = static_cast<int>(p_.n), m = static_cast<int>(p_.m), k = static_cast<int>(p_.k);
    const int ld_b = p_.b_transposed ? k : n, ld_a = p_.a_transposed ? m : k;
    const cudaDataType_t type = type_of(p_.element);
    const cublasComputeType_t compute = p_.element == Element::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (p_.batch == 1) {
      check_blas(cublasGemmEx(blas_, op_b, op_a, n, m, k, &one, b, type, ld_b, a, type, ld_a, &zero, out, type, n, compute, CUBLAS_GEMM_DEFAULT), "multiply");
    } else {
      check_blas(cublasGemmStridedBatchedEx(blas_, op_b, op_a, n, m, k, &one, b, type, ld_b, p_.n * p_.k, a, type, ld_a, p_.m * p_.k, &zero, out, type, n,
                                            p_.m * p_.n, static_cast<int>(p_.batch), compute, CUBLAS_GEMM_DEFAULT),
                 "multiply batches");
    }
  }

 private:
  cublasHandle_t blas_;
  Product p_;
  void* workspace_;
};

struct DropDescription {
  void operator()(cublasLtMatmulDesc_t d) const { (void)cublasLtMatmulDescDestroy(d); }
};
struct DropLayout {
  void operator()(cublasLtMatrixLayout_t l) const { (void)cublasLtMatrixLayoutDestroy(l); }
};
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DropLayout>;

class LtPlan final : public Blas::Plan {
 public:
  LtPlan(cublasLtHandle_t lt, const Product& p, void* workspace, const void* one) : lt_(lt), workspace_(workspace) {
    if (p.batch != 1) throw Blas::Unsupported{"batched products with an epilogue are not measured"};
    if (p.element == Element::float8_e4m3 && (p.a_transposed || !p.b_transposed)) throw Blas::Unsupported{"FP8 products need a row-major a and a transposed b"};
    const cublasComputeType_t compute = p.element == Element::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDesc_t op = nullptr;
    check_blas(cublasLtMatmulDescCreate(&op, compute, CUDA_R_32F), "describe a product");
    op_.reset(op);
    const cublasOperation_t op_b = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, op_a = p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, op_b);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op_a);
    if (p.bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    if (p.element == Element::float8_e4m3) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, one);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, one);
    }
    has_bias_ = p.bias;
    const cudaDataType_t type = type_of(p.element);
    first_ = layout(type, p.b_transposed ? p.k : p.n, p.b_transposed ? p.n : p.k);
    second_ = layout(type, p.a_transposed ? p.m : p.k, p.a_transposed ? p.k : p.m);
    out_ = layout(type_of(p.out_element()), p.n, p.m);
    choose();
  }
  void run(const void* a, const void* b, void* out, const void* bias, cudaStream_t stream) override {
    if (has_bias_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const float one = 1.0F, zero = 0.0F;
    check_blas(cublasLtMatmul(lt_, op_.get(), &one, b, first_.get(), a, second_.get(), &zero, out, out_.get(), out, out_.get(), &algo_, workspace_, kWorkspace, stream), "multiply (cublasLt)");
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_blas(cublasLtMatmulDescSetAttribute(op_.get(), attribute, &value, sizeof value), "describe a product");
  }
  static Layout layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t l = nullptr;
    check_blas(cublasLtMatrixLayoutCreate(&l, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows), "describe a matrix");
    return Layout(l);
  }
  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&preference), "make a preference");
    const std::size_t workspace = kWorkspace;
    (void)cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(lt_, op_.get(), first_.get(), second_.get(), out_.get(), out_.get(), preference, 1, &result, &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || found == 0) throw Blas::Unsupported{"cublasLt has no kernel for this type and layout here"};
    check_blas(status, "choose a kernel");
    algo_ = result.algo;
  }

  cublasLtHandle_t lt_;
  void* workspace_;
  std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DropDescription> op_;
  Layout first_, second_, out_;
  cublasLtMatmulAlgo_t algo_{};
  bool has_bias_ = false;
};

}  // namespace

Blas::Blas() : workspace_(kWorkspace), one_(sizeof(float)) {
  check_blas(cublasCreate(&blas_), "start");
  check_blas(cublasLtCreate(&lt_), "start (cublasLt)");
  const float one = 1.0F;
  check_cuda(cudaMemcpy(one_.data(), &one, sizeof one, cudaMemcpyHostToDevice), "write a scale");
}

Blas::~Blas() {
  if (lt_ != nullptr) (void)cublasLtDestroy(lt_);
  if (blas_ != nullptr) (void)cublasDestroy(blas_);
}

std::string Blas::version() const {
  int version = 0;
  check_blas(cublasGetVersion(blas_, &version), "tell its version");
  return std::to_string(version);
}

std::unique_ptr<Blas::Plan> Blas::plan(const Product& product) {
  if (product.bias || product.element == Element::float8_e4m3) return std::make_unique<LtPlan>(lt_, product, workspace_.data(), one_.data());
  return std::make_unique<GemmPlan>(blas_, product, workspace_.data());
}

}  // namespace sgsim::calibrate
