#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sgsim::calibrate {

/// Names one thing to measure. Equal keys are the same measurement: a later one replaces it.
struct Key {
  std::string group;                          // "matmul", "attention", "collective"
  std::map<std::string, std::string> labels;  // "dtype" -> "bfloat16"
  std::map<std::string, std::int64_t> sizes;  // "m" -> 4096

  auto operator<=>(const Key&) const = default;
  /// Throw InternalError when the key has none of that name.
  [[nodiscard]] std::int64_t size(std::string_view name) const;
  [[nodiscard]] const std::string& label(std::string_view name) const;
  [[nodiscard]] bool is(std::string_view name, std::string_view value) const;
};

/// "matmul dtype=bfloat16 layout=nt m=4096 n=4096 k=4096": labels, then sizes, in name order.
[[nodiscard]] std::string to_text(const Key& key);

/// Label of shapes that the fit must not see.
inline constexpr std::string_view kHeldOut = "held_out";
[[nodiscard]] bool is_held_out(const Key& key);

}  // namespace sgsim::calibrate
