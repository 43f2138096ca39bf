#pragma once

#include <string>
#include <string_view>

namespace sgsim::scenario {

/// 16 hexadecimal digits that tell contents apart: FNV-1a, 64 bits (Fowler, Noll, Vo), over 8-byte words with a final mix.
/// Not for adversaries.
[[nodiscard]] std::string content_hash(std::string_view content);

}  // namespace sgsim::scenario
