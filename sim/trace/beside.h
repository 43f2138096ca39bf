#pragma once

#include <string_view>

namespace sgsim::trace {

/// A replayed timeline draws operations that outlast later ones of their stream on a thread of their own, named as the stream's thread with this behind it. Read back, they are of that stream.
inline constexpr std::string_view kBeside = " beside it";

}  // namespace sgsim::trace
