#include "calibrate/bench/cases/context.h"

namespace sgsim::calibrate {

Context::Context(std::size_t pool_bytes) : pool(pool_bytes), samples(std::size_t{1} << 16) {
  check_cuda(cudaGetDevice(&device), "tell the current device");
  int l2 = 0;
  check_cuda(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "tell the cache size");
  l2_bytes = static_cast<std::size_t>(l2);
}

Element element_of(const std::string& dtype) {
  if (dtype == "float32") return Element::float32;
  if (dtype == "float16") return Element::float16;
  if (dtype == "bfloat16") return Element::bfloat16;
  if (dtype == "float8_e4m3fn") return Element::float8_e4m3;
  throw InternalError("no element type " + dtype);
}

}  // namespace sgsim::calibrate
