#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sgsim::scenario {

/// The candidate that `word` was probably meant to be: least edit distance (insert, delete, replace, swap of neighbours),
/// letters compared without case; nothing when even the nearest differs in more than half of its letters. Ties: the first.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// "a, b or c".
[[nodiscard]] std::string or_list(std::span<const std::string> words);

}  // namespace sgsim::scenario
