#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sgsim::scenario {

/// Indented by two, keys in their order, a list of numbers on one line; ends with a newline. Bytes that are no UTF-8
/// become U+FFFD.
[[nodiscard]] std::string pretty(const nlohmann::ordered_json& value);

}  // namespace sgsim::scenario
