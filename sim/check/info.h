#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sgsim::check {

/// What a file of measured runs, of measured collectives, of model facts or of tolerances holds, for people; nothing where `text` is none of these.
/// `path` is read in full: a broken file is an InputError.
[[nodiscard]] std::optional<std::string> info_text(const std::string& path, std::string_view text);

}  // namespace sgsim::check
