#include "sim/core/text_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"

namespace sgsim {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's flag for the gzip format with the largest window

[[noreturn]] void unreadable(const std::string& path, const std::string& found, const std::string& hint = "") {
  throw InputError({.file = path, .where = "", .found = found, .expected = "a readable text or gzip file", .hint = hint});
}

constexpr const char* kAgain = "copy or download it again";

/// Files of ours are whole, or refused.
std::string all_of(ByteSource& source, const std::string& name, std::size_t limit) {
  std::string content = read_unpacked(source, name, limit);
  if (!source.wrong_checksum().empty()) unreadable(name, "damaged gzip data (" + source.wrong_checksum() + ")", kAgain);
  if (source.bytes_behind() > 0) unreadable(name, std::to_string(source.bytes_behind()) + " bytes behind the gzip data", kAgain);
  return content;
}

std::string pack_gzip(std::string_view content) {
  z_stream stream{};
  SGSIM_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK,
              "zlib does not start");
  std::string packed(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  SGSIM_CHECK(status == Z_STREAM_END, "zlib returned " + std::to_string(status));
  return packed;
}

}  // namespace

std::string read_unpacked(ByteSource& source, const std::string& name, std::size_t limit) {
  std::string content;
  std::vector<char> block(1 << 20);
  while (const std::size_t got = source.read(block.data(), block.size())) {
    content.append(block.data(), got);
    if (content.size() > limit) unreadable(name, "more than " + std::to_string(limit) + " bytes" + (source.packed() ? " once unpacked" : ""));  // a device may never end
  }
  if (source.damage() == kReadError) unreadable(name, "a read error");
  if (source.damage() == kEndsEarly) unreadable(name, "a gzip file that ends too early", kAgain);
  if (!source.damage().empty()) unreadable(name, "damaged gzip data (" + source.damage() + ")", kAgain);
  return content;
}

std::string unpack_gzip(std::string_view content, const std::string& name, std::size_t limit) {
  ByteSource source(ByteSource::Content{content});
  return source.packed() ? all_of(source, name, limit) : std::string(content);
}

std::string read_text_file(const std::string& path, std::size_t limit) {
  if (path.empty()) unreadable("(an empty path)", "no name of a file");
  ByteSource source(path);
  return all_of(source, path, limit);
}

void write_text_file(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const std::string packed = path.ends_with(".gz") ? pack_gzip(content) : std::string();
  const std::string_view bytes = path.ends_with(".gz") ? std::string_view(packed) : content;
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  if (!file) throw EnvironmentError("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace sgsim
