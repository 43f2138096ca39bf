#pragma once

#include <string>
#include <string_view>

#include "sim/core/quantity.h"

namespace sgsim {

/// Reads a number with its unit, as hand-written files have it: "400 Gbit/s", "80 GiB", "1.5 us", "312 TFLOP/s".
/// Decimal prefixes k M G T P are powers of 1000, binary Ki Mi Gi Ti powers of 1024; bits only as "bit" ("Gbit/s").
/// Throws InputError (file and where left empty for the caller to fill) on a missing or wrong unit, a negative
/// or a non-finite number.
[[nodiscard]] Bytes parse_bytes(std::string_view text);
[[nodiscard]] Seconds parse_seconds(std::string_view text);
[[nodiscard]] BytesPerSecond parse_bandwidth(std::string_view text);
[[nodiscard]] FlopsPerSecond parse_flop_rate(std::string_view text);

/// Prints with three to four significant digits and a fitting prefix: "12.3 ms", "79.2 GiB", "187 GB/s".
[[nodiscard]] std::string to_text(Seconds value);
[[nodiscard]] std::string to_text(Bytes value);
[[nodiscard]] std::string to_text(BytesPerSecond value);
[[nodiscard]] std::string to_text(Flops value);
[[nodiscard]] std::string to_text(FlopsPerSecond value);

}  // namespace sgsim
