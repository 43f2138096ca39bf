#include "sim/import/whole_file.h"

#include <fmt/format.h>

#include <vector>

#include "sim/core/error.h"

namespace sgsim::import {

void tell_packing(const ByteSource& source, const std::string& path, std::string_view format, Diagnostics& report) {
  if (!source.wrong_checksum().empty()) report.add(fmt::format("import.{}.gzip_checksum", format), Severity::warning, path + ": " + source.wrong_checksum() + "; all was unpacked, some of it may be wrong");
  if (source.bytes_behind() > 0) report.add(fmt::format("import.{}.dropped.bytes_behind_gzip", format), Severity::error, path, source.bytes_behind());
}

std::string read_whole(const std::string& path, std::string_view format, Diagnostics& report, std::size_t limit) {
  ByteSource source(path);
  std::string content;
  std::vector<char> block(1 << 20);
  while (const std::size_t got = source.read(block.data(), block.size())) {
    content.append(block.data(), got);
    if (content.size() > limit) throw InputError({.file = path, .where = "", .found = fmt::format("more than {} bytes", limit), .expected = "a smaller file", .hint = ""});
  }
  if (!source.damage().empty()) {
    const bool early = source.damage() == kEndsEarly;
    throw InputError({.file = path, .where = "", .found = early ? "a gzip file that ends too early" : (source.packed() ? "damaged gzip data (" : "a read error (") + source.damage() + ")", .expected = "a whole file", .hint = "copy or download it again"});
  }
  tell_packing(source, path, format, report);
  return content;
}

}  // namespace sgsim::import
