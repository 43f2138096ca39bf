#pragma once

#include <string>

#include "sim/core/quantity.h"

namespace sgsim::scenario {

/// The shortest text that units_text.h reads back to exactly the same number ("80 GiB", "79.15 GiB", "25 GB/s").
/// (to_text of units_text.h rounds for people.)
[[nodiscard]] std::string exact_text(Bytes value);
[[nodiscard]] std::string exact_text(Seconds value);
[[nodiscard]] std::string exact_text(BytesPerSecond value);

}  // namespace sgsim::scenario
