#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sgsim::calibrate {

/// A small generator with the same numbers on every machine (std distributions differ between libraries): SplitMix64.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  [[nodiscard]] double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  /// Log-uniform in [least, most], rounded to a multiple of `step` (at least one).
  [[nodiscard]] std::int64_t log_uniform(std::int64_t least, std::int64_t most, std::int64_t step) {
    const double value = static_cast<double>(least) * std::pow(static_cast<double>(most) / static_cast<double>(least), uniform());
    return std::max<std::int64_t>(step, static_cast<std::int64_t>(std::llround(value / static_cast<double>(step))) * step);
  }
  template <class Container>
  [[nodiscard]] auto one_of(const Container& values) {
    return values[static_cast<std::size_t>(bits() % values.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace sgsim::calibrate
