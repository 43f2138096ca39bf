#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "calibrate/device/cuda/cuda.h"
#include "calibrate/device/cuda/fill.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 4096;

__device__ std::uint64_t mix(std::uint64_t x) {  // SplitMix64 (Steele et al. 2014)
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class T>
__global__ void fill_kernel(T* out, std::size_t count, std::uint64_t seed, float deviation) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t bits = mix(seed ^ (i * 0x2545f4914f6cdd1dull));
    float sum = 0.0F;  // of four uniforms in [-1/2, 1/2): variance 4/12
    for (int part = 0; part < 4; ++part) sum += static_cast<float>((bits >> (16 * part)) & 0xffff) * (1.0F / 65536.0F) - 0.5F;
    out[i] = T(sum * 1.7320508F * deviation);
  }
}

__global__ void index_kernel(std::int64_t* out, std::size_t count, std::int64_t bound, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = static_cast<std::int64_t>(mix(seed ^ (i * 0x2545f4914f6cdd1dull)) % static_cast<std::uint64_t>(bound));
  }
}

int blocks_for(std::size_t count) { return static_cast<int>(std::min<std::size_t>((count + kThreads - 1) / kThreads, kMostBlocks)); }

template <class T>
void fill_typed(void* data, std::size_t count, std::uint64_t seed, float deviation, cudaStream_t stream) {
  fill_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(data), count, seed, deviation);
  check_launch("fill with random numbers");
}

}  // namespace

std::size_t size_of(Element element) {
  switch (element) {
    case Element::float32: return 4;
    case Element::float16:
    case Element::bfloat16: return 2;
    case Element::float8_e4m3: return 1;
    case Element::int64: return 8;
  }
  throw InternalError("unknown element type");
}

void fill_random(void* data, std::size_t count, Element element, std::uint64_t seed, float deviation, cudaStream_t stream) {
  if (count == 0) return;
  switch (element) {
    case Element::float32: return fill_typed<float>(data, count, seed, deviation, stream);
    case Element::float16: return fill_typed<__half>(data, count, seed, deviation, stream);
    case Element::bfloat16: return fill_typed<__nv_bfloat16>(data, count, seed, deviation, stream);
    case Element::float8_e4m3: return fill_typed<__nv_fp8_e4m3>(data, count, seed, deviation, stream);
    case Element::int64: break;
  }
  throw InternalError("no random numbers of this type");
}

void fill_indices(void* data, std::size_t count, std::int64_t bound, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  index_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<std::int64_t*>(data), count, bound, seed);
  check_launch("fill with indices");
}

void poison(void* data, std::size_t bytes, cudaStream_t stream) { check_cuda(cudaMemsetAsync(data, 0xff, bytes, stream), "poison memory"); }

}  // namespace sgsim::calibrate
