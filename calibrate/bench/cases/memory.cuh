#pragma once

#include <optional>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/cases/sampled.cuh"

namespace sgsim::calibrate {

/// Eight 16-bit elements: one 16-byte access.
struct alignas(16) Pack {
  __nv_bfloat16 v[8];
};
struct alignas(16) Pack4 {
  float v[4];
};
constexpr std::int64_t kPack = 8;

/// Sum or maximum over a block of up to 1024 threads; every thread gets it.
template <class Op>
__device__ inline float block_reduce(float value, float neutral, Op op) {
  __shared__ float part[32];
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x + 31) / 32;
  value = static_cast<int>(threadIdx.x % 32) < warps ? part[threadIdx.x % 32] : neutral;
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();
  return value;
}
__device__ inline float add(float a, float b) { return a + b; }

/// Rows of `columns` elements that move about `bytes` at `bytes_per_element`.
struct Rows {
  std::int64_t rows = 1, columns = 1;
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(rows * columns); }
};
[[nodiscard]] inline Rows rows_for(const Key& key, double bytes_per_element) {
  const std::int64_t columns = key.size("columns");
  const double rows = static_cast<double>(key.size("bytes")) / (bytes_per_element * static_cast<double>(columns));
  return {std::max<std::int64_t>(1, static_cast<std::int64_t>(rows + 0.5)), columns};
}
/// Elements, a multiple of 1024, that move about `bytes`.
[[nodiscard]] inline std::int64_t elements_for(const Key& key, double bytes_per_element) {
  const double elements = static_cast<double>(key.size("bytes")) / bytes_per_element;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(elements / 1024.0 + 0.5)) * 1024;
}
/// Threads of a block that takes one row: four packs each, so that many rows are in flight on an SM.
constexpr int kRowPacks = 4;
[[nodiscard]] inline int row_threads(std::int64_t columns) {
  return static_cast<int>(std::clamp<std::int64_t>((columns / (kPack * kRowPacks) + 31) / 32 * 32, 32, 1024));
}

/// One operand in every set of a rotation.
struct Rotated {
  char* data = nullptr;
  std::size_t stride = 0;
  template <class T>
  [[nodiscard]] T* set(std::size_t i) const {
    return reinterpret_cast<T*>(data + i * stride);
  }
};
[[nodiscard]] inline Rotated take_rotated(Context& c, const Rotation& rotation, std::size_t bytes) {
  const std::size_t stride = (bytes + 255) / 256 * 256;
  return {c.pool.take(stride * rotation.sets()), stride};
}
[[nodiscard]] inline Rotated random_rotated(Context& c, const Rotation& rotation, std::size_t count, Element element) {
  const Rotated r = take_rotated(c, rotation, count * size_of(element));
  fill_random(r.data, r.stride * rotation.sets() / size_of(element), element, c.seed++, 1.0F, c.stream.get());
  return r;
}

/// The task of a kernel that `launch(set, stream)` starts, whose result in set 0 `check()` compares; it moves `bytes`.
template <class State, class Launch, class CheckResult>
[[nodiscard]] Task memory_task(Context& c, std::shared_ptr<State> state, const Rotation& rotation, double bytes, Launch launch, CheckResult check) {
  return {.timing = DeviceTimed{[=, &c](int r) {
            launch(*state, rotation.of(r), c.stream.get());
            check_launch("start a kernel");
          }},
          .synchronize = c.synchronizer(),
          .check =
              [=, &c] {
                launch(*state, 0, c.stream.get());
                check_launch("start a kernel");
                return check(*state);
              },
          .probe = c.probe(),
          .notes = [bytes] { return std::map<std::string, std::string>{{"bytes_moved", std::to_string(static_cast<std::int64_t>(bytes))}}; },
          .holds = state};
}

/// Tolerance of a bfloat16 result against double precision: it keeps 8 bits.
constexpr double kBfloat16Tolerance = 6e-3;

}  // namespace sgsim::calibrate
