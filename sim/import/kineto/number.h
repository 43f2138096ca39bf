#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sgsim::import::kineto {

/// Decimal text in microseconds as whole nanoseconds, exact where it has at most three decimals (further ones round half
/// away from zero); exponents go through long double. Nothing when it is no number or does not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

/// The same for what nearly every time is, digits with at most three decimals and no sign; nothing for anything else, which says nothing about it.
[[nodiscard]] inline std::optional<std::int64_t> plain_nanoseconds(std::string_view microseconds) {
  constexpr std::size_t kMostDigits = 16;                    // before the point: absolute times have as many
  constexpr std::int64_t kFarthest = 4'000'000'000'000'000;  // 127 years; times beyond are looked at more closely
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < microseconds.size() && i <= kMostDigits && microseconds[i] >= '0' && microseconds[i] <= '9'; ++i) value = value * 10 + (microseconds[i] - '0');
  if (i == 0 || value > kFarthest) return std::nullopt;
  std::size_t decimals = 0;
  if (i < microseconds.size() && microseconds[i] == '.') {
    for (++i; i < microseconds.size() && decimals < 3 && microseconds[i] >= '0' && microseconds[i] <= '9'; ++i, ++decimals) value = value * 10 + (microseconds[i] - '0');
  }
  if (i < microseconds.size()) return std::nullopt;
  constexpr std::int64_t kScale[] = {1000, 100, 10, 1};
  return value * kScale[decimals];
}

/// An integer; a number with a fraction or an exponent only when it is whole ("7.0"). Hexadecimal with 0x.
[[nodiscard]] std::optional<std::int64_t> integer(std::string_view text);
[[nodiscard]] std::optional<double> number(std::string_view text);

/// Product of the numbers of a list text "[4, 2048]"; nested lists multiply the first one only. Nothing when there is none.
[[nodiscard]] std::optional<double> elements_of(std::string_view list);

}  // namespace sgsim::import::kineto
