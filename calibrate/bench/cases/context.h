#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "calibrate/bench/task.h"
#include "calibrate/device/cuda/blas.h"
#include "calibrate/device/cuda/cuda.h"
#include "calibrate/device/cuda/dnn.h"
#include "calibrate/device/cuda/fill.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {

/// Device memory that one task after another divides among its operands: allocating for each point would take longer than
/// measuring it.
class Pool {
 public:
  explicit Pool(std::size_t bytes) : buffer_(bytes) {}
  void reset() { used_ = 0; }
  /// 256-byte aligned. Throws Waived when the point needs more than there is.
  [[nodiscard]] char* take(std::size_t bytes) {
    const std::size_t padded = (bytes + 255) / 256 * 256;
    if (used_ + padded > buffer_.bytes()) {
      throw Waived{"needs more than the " + std::to_string(buffer_.bytes() >> 20) + " MiB of device memory set aside"};
    }
    char* result = buffer_.at(used_);
    used_ += padded;
    return result;
  }
  [[nodiscard]] std::size_t free_bytes() const { return buffer_.bytes() - used_; }

 private:
  DeviceBuffer buffer_;
  std::size_t used_ = 0;
};

/// Cycles that the clock probe spins: long beside a kernel's start and end, short beside what moves the clock.
inline constexpr std::int64_t kProbeCycles = 20000;
void launch_clock_probe(std::int64_t cycles, cudaStream_t stream);

/// Everything that the cases of one GPU share.
struct Context {
  explicit Context(std::size_t pool_bytes);
  int device = 0;
  std::size_t l2_bytes = 0;
  Stream stream;
  Pool pool;
  Blas blas;
  Dnn dnn;
  DeviceBuffer samples;    // of results, when they are checked (sampled.cuh)
  std::uint64_t seed = 1;  // grows: every fill draws new numbers

  [[nodiscard]] std::function<void()> synchronizer() {
    return [this] { stream.synchronize(); };
  }
  /// Launches the clock probe on the stream.
  [[nodiscard]] std::function<void()> probe() {
    return [this] { launch_clock_probe(kProbeCycles, stream.get()); };
  }
};

/// Operand sets that repetitions take turns in, so that each finds its operands in memory and not in the L2 cache left by
/// the one before: enough of them to fill twice the cache, as far as the pool goes.
class Rotation {
 public:
  Rotation(const Context& context, std::size_t set_bytes) {
    const std::size_t padded = std::max<std::size_t>(set_bytes, 256);
    const std::size_t wanted = 2 * context.l2_bytes / padded + 1;
    constexpr std::size_t kMost = 64;
    const std::size_t possible = std::max<std::size_t>(1, context.pool.free_bytes() / 2 / padded);
    sets_ = std::min({wanted, kMost, possible});
  }
  [[nodiscard]] std::size_t sets() const { return sets_; }
  /// Set of a repetition; warm-ups count backwards from -1.
  [[nodiscard]] std::size_t of(int repetition) const {
    const auto n = static_cast<int>(sets_);
    return static_cast<std::size_t>((repetition % n + n) % n);
  }

 private:
  std::size_t sets_ = 1;
};

[[nodiscard]] Element element_of(const std::string& dtype);

}  // namespace sgsim::calibrate
