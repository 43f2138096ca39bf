#pragma once

#include <string>
#include <string_view>

namespace sgsim::scenario {

enum class FileKind : unsigned char { graph, model_config, scenario, sweep, cluster, profile, result, timeline, stack, unknown };

/// What a JSON text is, by its content alone.
[[nodiscard]] FileKind kind_of(std::string_view text);

/// What a file is and what it holds, for people. Reads it in full, so that a broken one is an InputError; a file that is
/// none of ours is one too, which says what is known of it.
[[nodiscard]] std::string info_text(const std::string& path);

}  // namespace sgsim::scenario
