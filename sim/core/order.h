#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sgsim {

/// Dependencies among numbered things: (before, after).
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// An order in which each thing stands after what it depends on, smallest numbers first; or, when there is none, a
/// shortest cycle (each depends on the one before it, the first on the last). No recursion. Numbers are below `count`.
struct Order {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> cycle;  // empty: `order` has all
};
[[nodiscard]] Order order_of(std::uint32_t count, const Pairs& pairs);

/// "a -> b -> a" for messages; long cycles are cut in the middle.
[[nodiscard]] std::string cycle_text(const std::vector<std::string>& names);

}  // namespace sgsim
