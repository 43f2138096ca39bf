#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <vector>

#include "calibrate/bench/cases/context.h"

namespace sgsim::calibrate {

/// Checks by sampling: a functor computes, the slow and obvious way and in double precision, what a few random elements of
/// the result should be.
constexpr int kCheckThreads = 128;

__device__ inline double to_double(float x) { return static_cast<double>(x); }
__device__ inline double to_double(__half x) { return static_cast<double>(__half2float(x)); }
__device__ inline double to_double(__nv_bfloat16 x) { return static_cast<double>(__bfloat162float(x)); }
__device__ inline double to_double(__nv_fp8_e4m3 x) { return static_cast<double>(static_cast<float>(x)); }
__device__ inline double to_double(std::int64_t x) { return static_cast<double>(x); }

/// Sum or maximum over the block; every thread gets it. All threads must call it.
__device__ inline double block_sum(double value) {
  __shared__ double part[kCheckThreads];
  part[threadIdx.x] = value;
  __syncthreads();
  for (int half = kCheckThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = part[0];
  __syncthreads();
  return sum;
}
__device__ inline double block_max(double value) {
  __shared__ double part[kCheckThreads];
  part[threadIdx.x] = value;
  __syncthreads();
  for (int half = kCheckThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) part[threadIdx.x] = fmax(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  const double largest = part[0];
  __syncthreads();
  return largest;
}

struct ExpectedAndGot {
  double expected, got;
};

__device__ inline std::uint64_t check_mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class F>
__global__ void sample_kernel(F f, std::size_t count, std::uint64_t seed, ExpectedAndGot* out) {
  const std::size_t i = check_mix(seed + 0x9e3779b97f4a7c15ull * (blockIdx.x + 1)) % count;
  const ExpectedAndGot pair = f(i);
  if (threadIdx.x == 0) out[blockIdx.x] = pair;
}

/// |got - expected| / |expected| over `samples` random elements of `count`; a block works on each, `f(i)` is called by all
/// of its threads. NaN when anything is.
template <class F>
double sampled_error(Context& context, F f, std::size_t count, int samples = 256) {
  const DeviceBuffer& buffer = context.samples;
  sample_kernel<<<samples, kCheckThreads, 0, context.stream.get()>>>(f, count, context.seed++, static_cast<ExpectedAndGot*>(buffer.data()));
  check_launch("check a result");
  std::vector<ExpectedAndGot> pairs(static_cast<std::size_t>(samples));
  check_cuda(cudaMemcpyAsync(pairs.data(), buffer.data(), sizeof(ExpectedAndGot) * pairs.size(), cudaMemcpyDeviceToHost, context.stream.get()), "read a check");
  context.stream.synchronize();
  double difference = 0.0, norm = 0.0;
  for (const ExpectedAndGot& p : pairs) {
    difference += (p.got - p.expected) * (p.got - p.expected);
    norm += p.expected * p.expected;
  }
  return norm > 0.0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace sgsim::calibrate
