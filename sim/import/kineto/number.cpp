#include "sim/import/kineto/number.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace sgsim::import::kineto {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> through_long_double(std::string_view text, long double factor) {
  long double value = 0.0L;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  const long double scaled = std::round(value * factor);
  if (std::fabs(scaled) >= static_cast<long double>(kMost)) return std::nullopt;
  return static_cast<std::int64_t>(scaled);
}

}  // namespace

std::optional<std::int64_t> nanoseconds(std::string_view text) {
  std::size_t i = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++i;
  std::int64_t whole = 0;
  const std::size_t digits = i;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (whole > (kMost - 9) / 10) return std::nullopt;
    whole = whole * 10 + (text[i] - '0');
  }
  if (i == digits) return std::nullopt;
  std::int64_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    for (int k = 0; k < 3; ++k) {
      const bool digit = i < text.size() && text[i] >= '0' && text[i] <= '9';
      fraction = fraction * 10 + (digit ? text[i] - '0' : 0);
      if (digit) ++i;
    }
    if (i < text.size() && text[i] >= '5' && text[i] <= '9') ++fraction;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
  }
  if (i < text.size()) return through_long_double(text[0] == '+' ? text.substr(1) : text, 1000.0L);
  if (whole > (kMost - fraction) / 1000) return std::nullopt;
  const std::int64_t result = whole * 1000 + fraction;
  return negative ? -result : result;
}

std::optional<std::int64_t> integer(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  std::uint64_t large = 0;  // ids of 64 bits keep their bits
  const auto [end2, error2] = std::from_chars(text.data(), text.data() + text.size(), large);
  if (error2 == std::errc() && end2 == text.data() + text.size()) return static_cast<std::int64_t>(large);
  long double real = 0.0L;
  const auto [end3, error3] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (error3 != std::errc() || end3 != text.data() + text.size() || !std::isfinite(real) || std::floor(real) != real) return std::nullopt;
  if (std::fabs(real) >= static_cast<long double>(kMost)) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> elements_of(std::string_view list) {
  const std::size_t begin = list.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  double product = 1.0;
  std::size_t i = begin;
  while (i < list.size() && list[i] != ']') {
    if (list[i] < '0' || list[i] > '9') {
      ++i;
      continue;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(list.data() + i, list.data() + list.size(), value);
    if (error != std::errc()) return std::nullopt;
    product *= static_cast<double>(value);
    i = static_cast<std::size_t>(end - list.data());
  }
  return product;
}

}  // namespace sgsim::import::kineto
