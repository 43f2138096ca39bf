#include "sim/core/units_text.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "sim/core/error.h"

namespace sgsim {
namespace {

struct Prefix {
  std::string_view text;
  double factor;
};

constexpr std::array kPrefixes = {
    Prefix{"Ki", 1024.0},        Prefix{"Mi", 1048576.0}, Prefix{"Gi", 1073741824.0}, Prefix{"Ti", 1099511627776.0},
    Prefix{"k", 1e3},            Prefix{"K", 1e3},        Prefix{"M", 1e6},           Prefix{"G", 1e9},
    Prefix{"T", 1e12},           Prefix{"P", 1e15},       Prefix{"m", 1e-3},          Prefix{"u", 1e-6},
    Prefix{"n", 1e-9},           Prefix{"", 1.0},
};

struct Unit {
  std::string_view text;
  double factor;
  bool fractional_prefixes;  // may take m, u, n
};

[[noreturn]] void reject(std::string_view text, std::string_view expected) {
  throw InputError({.file = "", .where = "", .found = "'" + std::string(text) + "'", .expected = std::string(expected),
                    .hint = "Write the number and its unit, e.g. \"25 GB/s\""});
}

double parse(std::string_view text, std::span<const Unit> units, std::string_view expected) {
  double number = 0.0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (begin != end && std::isspace(static_cast<unsigned char>(*begin)) != 0) ++begin;
  const auto [after, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0.0) reject(text, expected);
  std::string_view rest(after, static_cast<std::size_t>(end - after));
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())) != 0) rest.remove_prefix(1);
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back())) != 0) rest.remove_suffix(1);
  for (const Unit& unit : units) {
    if (!rest.ends_with(unit.text)) continue;
    const std::string_view head = rest.substr(0, rest.size() - unit.text.size());
    for (const Prefix& prefix : kPrefixes) {
      if (head != prefix.text) continue;
      if (prefix.factor < 1.0 && !unit.fractional_prefixes) continue;
      const double value = number * prefix.factor * unit.factor;
      if (!std::isfinite(value)) reject(text, expected);
      return value;
    }
  }
  reject(text, expected);
}

std::string scaled(double value, std::span<const std::pair<double, std::string_view>> steps) {
  for (const auto& [factor, unit] : steps) {
    if (std::abs(value) >= factor) return fmt::format("{:.4g} {}", value / factor, unit);
  }
  return fmt::format("{:.4g} {}", value / steps.back().first, steps.back().second);
}

using Steps = std::pair<double, std::string_view>;

}  // namespace

Bytes parse_bytes(std::string_view text) {
  constexpr std::array units = {Unit{"bit", 0.125, false}, Unit{"bytes", 1.0, false}, Unit{"B", 1.0, false}};
  return Bytes(parse(text, units, "an amount of memory with its unit, such as \"80 GiB\" or \"25 MB\""));
}

Seconds parse_seconds(std::string_view text) {
  constexpr std::array units = {Unit{"s", 1.0, true}, Unit{"min", 60.0, false}, Unit{"h", 3600.0, false}};
  return Seconds(parse(text, units, "a time with its unit, such as \"1.5 us\" or \"2 s\""));
}

BytesPerSecond parse_bandwidth(std::string_view text) {
  constexpr std::array units = {Unit{"bit/s", 0.125, false}, Unit{"B/s", 1.0, false}};
  return BytesPerSecond(parse(text, units, "a bandwidth with its unit, such as \"400 Gbit/s\" or \"25 GB/s\""));
}

FlopsPerSecond parse_flop_rate(std::string_view text) {
  constexpr std::array units = {Unit{"FLOP/s", 1.0, false}, Unit{"FLOPS", 1.0, false}};
  return FlopsPerSecond(parse(text, units, "a rate of arithmetic with its unit, such as \"312 TFLOP/s\""));
}

std::string to_text(Seconds value) {
  constexpr std::array<Steps, 4> steps = {Steps{1.0, "s"}, Steps{1e-3, "ms"}, Steps{1e-6, "us"}, Steps{1e-9, "ns"}};
  return scaled(value.value(), steps);
}

std::string to_text(Bytes value) {
  constexpr std::array<Steps, 5> steps = {Steps{1099511627776.0, "TiB"}, Steps{1073741824.0, "GiB"},
                                          Steps{1048576.0, "MiB"}, Steps{1024.0, "KiB"}, Steps{1.0, "B"}};
  return scaled(value.value(), steps);
}

std::string to_text(BytesPerSecond value) {
  constexpr std::array<Steps, 5> steps = {Steps{1e12, "TB/s"}, Steps{1e9, "GB/s"}, Steps{1e6, "MB/s"},
                                          Steps{1e3, "kB/s"}, Steps{1.0, "B/s"}};
  return scaled(value.value(), steps);
}

std::string to_text(Flops value) {
  constexpr std::array<Steps, 5> steps = {Steps{1e15, "PFLOP"}, Steps{1e12, "TFLOP"}, Steps{1e9, "GFLOP"},
                                          Steps{1e6, "MFLOP"}, Steps{1.0, "FLOP"}};
  return scaled(value.value(), steps);
}

std::string to_text(FlopsPerSecond value) {
  constexpr std::array<Steps, 4> steps = {Steps{1e15, "PFLOP/s"}, Steps{1e12, "TFLOP/s"}, Steps{1e9, "GFLOP/s"},
                                          Steps{1.0, "FLOP/s"}};
  return scaled(value.value(), steps);
}

}  // namespace sgsim
