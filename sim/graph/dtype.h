#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sgsim::graph {

/// Element types, named as PyTorch prints them without "torch.".
enum class DType : std::uint8_t {
  float32, float64, float16, bfloat16, float8_e4m3fn, float8_e5m2, int64, int32, int16, int8, uint8, bool_, complex64,
  uint16, uint32, uint64, complex128
};

/// Bytes an element takes.
[[nodiscard]] int size_of(DType dtype);
[[nodiscard]] bool is_floating(DType dtype);
[[nodiscard]] std::string_view to_text(DType dtype);
/// Accepts "bfloat16" and "torch.bfloat16"; nothing for an unknown name.
[[nodiscard]] std::optional<DType> dtype_from_text(std::string_view text);

}  // namespace sgsim::graph
