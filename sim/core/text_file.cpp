#include "sim/core/text_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "sim/core/error.h"

namespace sgsim {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's flag for the gzip format with the largest window

[[noreturn]] void unreadable(const std::string& path, const std::string& found, const std::string& hint = "") {
  throw InputError({.file = path, .where = "", .found = found, .expected = "a readable text or gzip file", .hint = hint});
}

bool has_gzip_mark(std::string_view content) {
  return content.size() >= 2 && content[0] == '\x1f' && content[1] == '\x8b';
}

/// One z_stream that is always given back.
struct Inflater {
  z_stream stream{};
  Inflater() { SGSIM_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "zlib does not start"); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

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

std::string unpack_gzip(std::string_view content, const std::string& name, std::size_t limit) {
  if (!has_gzip_mark(content)) return std::string(content);
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  std::string text;
  std::array<char, 1 << 16> block;
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      if (status == Z_BUF_ERROR) unreadable(name, "a gzip file that ends too early", "copy or download it again");
      unreadable(name, std::string("damaged gzip data (") + (stream.msg != nullptr ? stream.msg : "no detail") + ")",
                 "copy or download it again");
    }
    text.append(block.data(), block.size() - stream.avail_out);
    if (text.size() > limit) unreadable(name, "more than " + std::to_string(limit) + " bytes once unpacked");
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      if (inflateReset(&stream) != Z_OK) unreadable(name, "damaged gzip data");  // a further member follows
    }
  }
}

std::string read_text_file(const std::string& path, std::size_t limit) {
  if (path.empty()) unreadable("(an empty path)", "no name of a file");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) unreadable(path, "a directory", "name a file in it");
  std::ifstream file(path, std::ios::binary);
  if (!file) unreadable(path, std::strerror(errno), "check the path");
  std::string content;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    content.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (content.size() > limit) unreadable(path, "more than " + std::to_string(limit) + " bytes");  // a device may never end
  }
  if (file.bad()) unreadable(path, "a read error");
  return has_gzip_mark(content) ? unpack_gzip(content, path, limit) : content;
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
