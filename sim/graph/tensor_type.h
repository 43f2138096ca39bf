#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::graph {

using Dims = std::vector<std::int64_t>;

/// Product that wraps around instead of being undefined: sizes from damaged files must not trap. Files are checked for
/// sizes that a machine could have when they are read.
[[nodiscard]] constexpr std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Row-major strides of a shape, in elements.
[[nodiscard]] Dims contiguous_strides(const Dims& shape);
/// The strides of a tensor, spelled out.
[[nodiscard]] Dims strides_of(const TensorType& type);
/// A row-major tensor (its `stride` stays empty).
[[nodiscard]] TensorType contiguous(Dims shape, DType dtype);
/// A tensor with these strides; empty when they are the row-major ones, so that equal tensors compare equal.
/// Strides of dimensions of size 1 do not matter and are set as in the row-major tensor.
[[nodiscard]] TensorType strided(Dims shape, DType dtype, Dims stride);
[[nodiscard]] bool is_contiguous(const TensorType& type);

/// Strides with which memory laid out as `type` can be seen in the shape `sizes` (of as many elements); nothing when
/// that needs a copy. PyTorch: view works, or reshape copies.
[[nodiscard]] std::optional<Dims> view_strides(const TensorType& type, const Dims& sizes);

/// What stands for a result that an operator does not give (None in PyTorch): no elements.
[[nodiscard]] TensorType absent();
[[nodiscard]] bool is_absent(const TensorType& type);

/// "bfloat16[4096, 8192]", with " stride [1, 4096]" where it is not row-major; "none" for an absent result.
[[nodiscard]] std::string to_text(const TensorType& type);

}  // namespace sgsim::graph
