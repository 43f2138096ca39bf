#include <array>
#include <charconv>

#include "sim/graph/tensor_type.h"
#include "sim/import/fx_text/fx_text.h"

namespace sgsim::import::fx_text {
namespace {

using graph::DType;

struct Short {
  std::string_view text;
  DType dtype;
};
/// torch.utils._dtype_abbrs.
constexpr std::array<Short, 17> kShort{{{"bf16", DType::bfloat16}, {"f64", DType::float64}, {"f32", DType::float32}, {"f16", DType::float16}, {"f8e4m3fn", DType::float8_e4m3fn},
                                        {"f8e5m2", DType::float8_e5m2}, {"c64", DType::complex64}, {"c128", DType::complex128}, {"i8", DType::int8}, {"i16", DType::int16},
                                        {"i32", DType::int32}, {"i64", DType::int64}, {"b8", DType::bool_}, {"u8", DType::uint8}, {"u16", DType::uint16}, {"u32", DType::uint32}, {"u64", DType::uint64}}};

constexpr std::int64_t kLargestSize = std::int64_t{1} << 48;

/// "[1, 2]" off the front.
std::optional<graph::Dims> take_sizes(std::string_view& text) {
  if (!text.starts_with("[")) return std::nullopt;
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view inside = text.substr(1, close - 1);
  text.remove_prefix(close + 1);
  graph::Dims sizes;
  while (!inside.empty()) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), value);
    if (error != std::errc() || value < 0 || value > kLargestSize) return std::nullopt;
    sizes.push_back(value);
    inside.remove_prefix(static_cast<std::size_t>(end - inside.data()));
    if (!inside.empty() && !inside.starts_with(",")) return std::nullopt;
    while (inside.starts_with(",") || inside.starts_with(" ")) inside.remove_prefix(1);
  }
  return sizes;
}

}  // namespace

std::optional<graph::TensorType> type_of_annotation(std::string_view annotation) {
  const std::size_t bracket = annotation.find('[');
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::string_view word = annotation.substr(0, bracket);
  for (const Short& entry : kShort) {
    if (entry.text != word) continue;
    std::string_view rest = annotation.substr(bracket);
    auto shape = take_sizes(rest);
    if (!shape) return std::nullopt;
    double elements = 1.0;
    for (const std::int64_t size : *shape) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(kLargestSize)) return std::nullopt;
    auto stride = take_sizes(rest);
    if (stride && stride->size() == shape->size()) return graph::strided(std::move(*shape), entry.dtype, std::move(*stride));
    return graph::contiguous(std::move(*shape), entry.dtype);
  }
  return std::nullopt;
}

}  // namespace sgsim::import::fx_text
