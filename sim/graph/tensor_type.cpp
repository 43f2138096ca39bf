#include "sim/graph/tensor_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgsim::graph {

std::int64_t TensorType::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count = wrapping_product(count, size);
  return count;
}

Bytes TensorType::bytes() const { return Bytes(static_cast<double>(elements()) * size_of(dtype)); }

Dims contiguous_strides(const Dims& shape) {
  Dims stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) stride[i - 1] = wrapping_product(stride[i], std::max<std::int64_t>(shape[i], 1));
  return stride;
}

Dims strides_of(const TensorType& type) { return type.stride.empty() ? contiguous_strides(type.shape) : type.stride; }

TensorType contiguous(Dims shape, DType dtype) { return {.shape = std::move(shape), .dtype = dtype, .stride = {}}; }

TensorType strided(Dims shape, DType dtype, Dims stride) {
  const Dims row_major = contiguous_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) stride[i] = row_major[i];
  }
  if (stride == row_major) stride.clear();
  return {.shape = std::move(shape), .dtype = dtype, .stride = std::move(stride)};
}

bool is_contiguous(const TensorType& type) { return type.stride.empty() || type.stride == contiguous_strides(type.shape); }

// Walks the old dimensions from the last in chunks that lie dense in memory and deals each chunk out to new dimensions.
std::optional<Dims> view_strides(const TensorType& type, const Dims& sizes) {
  const Dims old_stride = strides_of(type);
  Dims stride(sizes.size(), 1);
  std::int64_t chunk = 1, dealt = 1;
  std::size_t to = sizes.size();
  std::int64_t base = type.shape.empty() ? 1 : old_stride.back();
  for (std::size_t i = type.shape.size(); i-- > 0;) {
    chunk = wrapping_product(chunk, type.shape[i]);
    const bool chunk_ends = i == 0 || (type.shape[i - 1] != 1 && old_stride[i - 1] != wrapping_product(chunk, base));
    if (!chunk_ends) continue;
    while (to > 0 && (dealt < chunk || sizes[to - 1] == 1)) {
      --to;
      stride[to] = wrapping_product(dealt, base);
      dealt = wrapping_product(dealt, sizes[to]);
    }
    if (dealt != chunk) return std::nullopt;
    if (i > 0) {
      base = old_stride[i - 1];
      chunk = 1;
      dealt = 1;
    }
  }
  return stride;
}

TensorType absent() { return {.shape = {0}, .dtype = DType::uint8, .stride = {}}; }

bool is_absent(const TensorType& type) {
  return type.shape.size() == 1 && type.shape[0] == 0 && type.dtype == DType::uint8 && type.stride.empty();
}

std::string to_text(const TensorType& type) {
  if (is_absent(type)) return "none";
  std::string text = fmt::format("{}[{}]", to_text(type.dtype), fmt::join(type.shape, ", "));
  if (!type.stride.empty()) text += fmt::format(" stride [{}]", fmt::join(type.stride, ", "));
  return text;
}

}  // namespace sgsim::graph
