#include "calibrate/execute/cuda/gate.h"

#include <cstdint>

namespace sgsim::calibrate {
namespace {

/// A launch that waits for the GPU to go on (a full queue) must not wait for ever.
constexpr std::uint64_t kMostNanoseconds = 200'000'000;

__global__ void gate_kernel(const volatile int* flag, int value) {
  std::uint64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (*flag < value && now - begin < kMostNanoseconds);
}

}  // namespace

Gate::Gate() : flag_(sizeof(int)) { *static_cast<volatile int*>(flag_.data()) = 0; }

void Gate::close(cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(static_cast<const volatile int*>(flag_.data()), ++closed_);
  check_launch("hold a stream back");
}

void Gate::open() { *static_cast<volatile int*>(flag_.data()) = closed_; }

}  // namespace sgsim::calibrate
