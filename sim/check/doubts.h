#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/check/record.h"

namespace sgsim::check {

/// No size of a record (GPUs, layers, batch ...) is larger; larger ones are slips of the pen.
inline constexpr std::int64_t kLargestSize = 1'000'000'000;

/// Why a record cannot be taken at its word: a field that could not be read, a size out of range, or a stated word that
/// nothing here understands. Names field, value and what would be understood; empty: nothing is wrong.
[[nodiscard]] std::string doubt_of(const Record& record);

/// "FIELD: VALUE, expected a whole number from 1 to 1e9", or empty.
[[nodiscard]] std::string size_doubt(std::string_view field, const std::optional<std::int64_t>& value);

/// Whether the number of NICs and their rate in a text such as "4 x 100Gb RoCE" can be; a reason, or empty.
[[nodiscard]] std::string network_doubt(std::string_view interconnect, std::int64_t gpus_per_node);

}  // namespace sgsim::check
