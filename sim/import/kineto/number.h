#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sgsim::import::kineto {

/// Decimal text in microseconds as whole nanoseconds, exact where it has at most three decimals (further ones round half
/// away from zero); exponents go through long double. Nothing when it is no number or does not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

/// An integer; a number with a fraction or an exponent only when it is whole ("7.0"). Hexadecimal with 0x.
[[nodiscard]] std::optional<std::int64_t> integer(std::string_view text);
[[nodiscard]] std::optional<double> number(std::string_view text);

/// Product of the numbers of a list text "[4, 2048]"; nested lists multiply the first one only. Nothing when there is none.
[[nodiscard]] std::optional<double> elements_of(std::string_view list);

}  // namespace sgsim::import::kineto
