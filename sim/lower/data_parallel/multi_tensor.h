#pragma once

#include <algorithm>
#include <cmath>

namespace sgsim::lower {

/// Launches of a PyTorch multi-tensor kernel (_foreach_*, fused optimizers): each covers at most 320 chunks of 65,536
/// elements and `tensors_each` tensors (ATen/native/cuda/MultiTensorApply.cuh: kChunkSize, depth_to_max_blocks and
/// depth_to_max_tensors = 110, 64, 48, 36, 30 for 1 to 5 lists).
[[nodiscard]] inline int multi_tensor_launches(double elements, int tensors, int tensors_each) {
  const double chunks = std::ceil(elements / 65536.0);
  return std::max({1, static_cast<int>(std::ceil(chunks / 320.0)), (tensors + tensors_each - 1) / tensors_each});
}

}  // namespace sgsim::lower
