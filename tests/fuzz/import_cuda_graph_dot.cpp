// CUDA graph dumps: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/cuda_graph_dot/cuda_graph_dot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    (void)import::cuda_graph_dot::parse(text, "fuzz.dot");
  } catch (const InputError&) {
  }
  return 0;
}
