#include "sim/import/whole_file.h"

#include <fmt/format.h>

#include "sim/core/text_file.h"

namespace sgsim::import {

void tell_packing(const ByteSource& source, const std::string& path, std::string_view format, Diagnostics& report) {
  if (!source.wrong_checksum().empty()) report.add(fmt::format("import.{}.gzip_checksum", format), Severity::warning, path + ": " + source.wrong_checksum() + "; all was unpacked, some of it may be wrong");
  if (source.bytes_behind() > 0) report.add(fmt::format("import.{}.dropped.bytes_behind_gzip", format), Severity::error, path, source.bytes_behind());
}

std::string read_whole(const std::string& path, std::string_view format, Diagnostics& report, std::size_t limit) {
  ByteSource source(path);
  std::string content = read_unpacked(source, path, limit);
  tell_packing(source, path, format, report);
  return content;
}

}  // namespace sgsim::import
