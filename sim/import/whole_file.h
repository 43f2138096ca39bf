#pragma once

#include <string>
#include <string_view>

#include "sim/core/byte_source.h"
#include "sim/core/diagnostics.h"
#include "sim/core/text_file.h"

namespace sgsim::import {

/// What became of a file's packing, once it was read to its end: "import.<format>.gzip_checksum" where all was unpacked but is not what the file's own checksum or length says, and
/// "import.<format>.dropped.bytes_behind_gzip".
void tell_packing(const ByteSource& source, const std::string& path, std::string_view format, Diagnostics& report);

/// The whole content of a file of another program, unpacked, for readers that need all of it at once. Throws InputError where it cannot be opened, ends early, cannot be unpacked to its end or is larger than `limit`.
[[nodiscard]] std::string read_whole(const std::string& path, std::string_view format, Diagnostics& report, std::size_t limit = kLargestTextFile);

}  // namespace sgsim::import
