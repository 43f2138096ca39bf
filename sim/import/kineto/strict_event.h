#pragma once

#include "sim/import/kineto/lexer.h"

namespace sgsim::import::kineto {

/// Bytes that may be read (as anything but quotes and brackets) beyond the end of the text given to read_strict_event.
inline constexpr std::size_t kReadBeyond = 64;

/// Reads the event at `at` ('{') as what nearly all are, well-formed JSON, several times as fast as the forgiving reader. Returns the byte
/// after it; nullptr where anything is odd or the text ends first: then EventLexer reads the event, and where both can they agree.
[[nodiscard]] const char* read_strict_event(const char* at, const char* end, Event& event);

}  // namespace sgsim::import::kineto
