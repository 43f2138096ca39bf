#pragma once

#include <string>
#include <string_view>

namespace sgsim::check {

/// Text as it may stand inside XML and HTML, elements and attributes alike; control characters become spaces.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace sgsim::check
