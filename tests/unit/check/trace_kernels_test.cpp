// Kernels of a trace are filed by what launched them, and by name where that says nothing.
#include "sim/check/kernels.h"
#include "sim/core/text_file.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

/// A launch at `ts` and its kernel of 10 us; `id` joins them.
std::string launched(int id, int ts, const std::string& name, const char* category = "kernel") {
  const std::string n = std::to_string(id);
  return R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": )" + std::to_string(ts) + R"(, "dur": 1, "args": {"correlation": )" + n + "}},\n" +
         R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "ts": )" + std::to_string(1000 + 10 * id) + R"(, "dur": 10, "args": {"correlation": )" + n + R"(, "External id": )" + n + "}},\n";
}

double launches(const check::KernelSide& side, check::KernelClass kind) { return side.by_class[static_cast<std::size_t>(kind)].launches; }

}  // namespace

TEST_CASE("kernels are filed by what launched them") {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/check_trace_kernels_test.json";
  std::string text = R"({"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 2000},
    {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "ts": 500, "dur": 100},
    {"ph": "X", "cat": "cpu_op", "name": "aten::cudnn_convolution", "ts": 90, "dur": 20, "args": {"External id": 1}},
)";
  text += launched(1, 100, "nvjet_sm90_tst_128x128");                                                    // a convolution that runs as a product
  text += launched(2, 200, "nvjet_sm90_tst_128x128");                                                    // a product
  text += launched(3, 300, "multi_tensor_apply_kernel<CopyFunctor<c10::BFloat16>, at::native::Copy<float> >");  // FSDP2's copies
  text += launched(4, 510, "vectorized_elementwise_kernel<8, lerp_scalar_kernel>");                      // an optimizer's loop over parameters
  text += launched(5, 520, "Memcpy DtoD", "gpu_memcpy");                                                 // and its copies
  text += launched(6, 300, "multi_tensor_apply_kernel<FusedAdamMathFunctor<float> >");                   // replayed from a graph
  text += launched(7, 300, "Memcpy HtoD", "gpu_memcpy");
  text += launched(8, 300, "ncclDevKernel_AllGather_RING_LL");
  text += launched(9, 300, "vectorized_elementwise_kernel<8, mul>");
  text.resize(text.rfind(','));
  write_text_file(path, text + "]}");
  const check::KernelSide side = check::read_kernels(path);
  CHECK(launches(side, check::KernelClass::convolution) == 1.0);
  CHECK(launches(side, check::KernelClass::product) == 1.0);
  CHECK(launches(side, check::KernelClass::bandwidth) == 2.0);
  CHECK(launches(side, check::KernelClass::optimizer) == 3.0);
  CHECK(launches(side, check::KernelClass::copy) == 1.0);
  CHECK(launches(side, check::KernelClass::communication) == 1.0);
  CHECK(side.by_class[static_cast<std::size_t>(check::KernelClass::optimizer)].seconds == Approx(30e-6));
  CHECK(side.step == Approx(2e-3));
}

TEST_CASE("of many sizes that only one side has, ten are shown and the rest counted") {
  check::KernelComparison c;
  c.id = "a";
  for (int i = 1; i <= 30; ++i) c.traced.products[1000000000LL * i] = {.seconds = 1e-3 * i, .launches = 1.0};
  c.traced.by_class[0] = {.seconds = 0.465, .launches = 30.0};
  check::KernelComparison missing;
  missing.id = "b";
  missing.skipped = "the trace x is not there";
  const std::string text = check::text_report({c, missing});
  CHECK_THAT(text, Catch::Contains("product of 30 GFLOP") && Catch::Contains("product of 21 GFLOP") && !Catch::Contains("product of 20 GFLOP"));
  CHECK_THAT(text, Catch::Contains("20 other sizes, unmatched") && Catch::Contains("b: skipped: the trace x is not there"));
  CHECK_THAT(text, Catch::Contains("includes waiting for the other ranks"));
  CHECK_THAT(check::json_report({missing}), Catch::Contains("\"skipped\": \"the trace x is not there\""));
}
