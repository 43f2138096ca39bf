#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sgsim {

/// No input file of ours is larger once unpacked; a larger one is refused before it fills the memory.
inline constexpr std::size_t kLargestTextFile = std::size_t{4} << 30;

class ByteSource;

/// Everything that can be unpacked. Throws InputError where it ends early, is damaged or larger than `limit`; what its checksum says and what
/// stands behind the gzip data is the caller's. `name` is for errors.
[[nodiscard]] std::string read_unpacked(ByteSource& source, const std::string& name, std::size_t limit);

/// The content of a file; gzip is unpacked, whatever the name. Throws InputError when it is missing, unreadable,
/// truncated, damaged or larger than `limit` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t limit = kLargestTextFile);

/// Unpacks gzip content that is in memory; content without the gzip mark is returned as it is. `name` is for errors.
[[nodiscard]] std::string unpack_gzip(std::string_view content, const std::string& name,
                                      std::size_t limit = kLargestTextFile);

/// Writes a file, gzip-packed where the name ends in ".gz" (without time stamp, so equal content is an equal file).
/// Throws EnvironmentError when it cannot.
void write_text_file(const std::string& path, std::string_view content);

}  // namespace sgsim
