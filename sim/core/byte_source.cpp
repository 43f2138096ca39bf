#include "sim/core/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>

#include "sim/core/error.h"

namespace sgsim {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's flag for the gzip format with the largest window

}  // namespace

struct ByteSource::File {
  std::FILE* handle = nullptr;               // none: `memory`
  std::string_view memory;                   // not yet taken
  std::array<unsigned char, 1 << 16> input;  // read and not yet used: [at, end)
  std::size_t at = 0, end = 0;
  std::uint64_t done = 0;                    // bytes taken from the file
  bool packed = false, over = false;
  z_stream stream{};

  std::size_t from_file(void* into, std::size_t size) {
    std::size_t got = 0;
    if (handle != nullptr) {
      got = std::fread(into, 1, size, handle);
    } else {
      got = std::min(size, memory.size());
      std::memcpy(into, memory.data(), got);
      memory.remove_prefix(got);
    }
    done += got;
    return got;
  }
  /// Whether at least `wanted` bytes (a few) are in `input`.
  bool has(std::size_t wanted) {
    if (end - at >= wanted) return true;
    std::memmove(input.data(), input.data() + at, end - at);
    end -= at;
    at = 0;
    end += from_file(input.data() + end, input.size() - end);
    return end >= wanted;
  }
  bool at_member() { return has(2) && input[at] == 0x1f && input[at + 1] == 0x8b; }
};

ByteSource::ByteSource(const std::string& path) : file_(std::make_unique<File>()) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw InputError({.file = path, .where = "", .found = "a directory", .expected = "a readable file", .hint = "name a file in it"});
  file_->handle = std::fopen(path.c_str(), "rb");
  if (file_->handle == nullptr) throw InputError({.file = path, .where = "", .found = std::strerror(errno), .expected = "a readable file", .hint = "check the path"});
  std::setvbuf(file_->handle, nullptr, _IONBF, 0);  // blocks are large already
  const auto size = std::filesystem::file_size(path, unknown);
  file_bytes_ = unknown ? 0 : size;
  begin();
}

ByteSource::ByteSource(Content content) : file_(std::make_unique<File>()), file_bytes_(content.bytes.size()) {
  file_->memory = content.bytes;
  begin();
}

void ByteSource::begin() {
  file_->packed = file_->at_member();
  if (file_->packed) SGSIM_CHECK(inflateInit2(&file_->stream, kGzipWindow) == Z_OK, "zlib does not start");
}

ByteSource::~ByteSource() {
  if (file_->packed) inflateEnd(&file_->stream);
  if (file_->handle != nullptr) std::fclose(file_->handle);
}

bool ByteSource::packed() const { return file_->packed; }

std::size_t ByteSource::read(char* into, std::size_t size) {
  std::size_t got = 0;
  if (file_->packed) {
    got = unpack(into, size);
  } else {
    got = std::min(size, file_->end - file_->at);  // what was looked at to tell whether it is gzip
    std::memcpy(into, file_->input.data() + file_->at, got);
    file_->at += got;
    if (got < size) got += file_->from_file(into + got, size - got);
  }
  if (got < size && file_->handle != nullptr && std::ferror(file_->handle) != 0) damage_ = kReadError;
  text_done_ += got;
  return got;
}

std::size_t ByteSource::unpack(char* into, std::size_t size) {
  File& file = *file_;
  std::size_t got = 0;
  while (got < size && !file.over) {
    if (!file.has(1)) {
      damage_ = kEndsEarly;
      file.over = true;
      break;
    }
    const std::size_t room = std::min<std::size_t>(size - got, std::numeric_limits<uInt>::max());
    file.stream.next_in = file.input.data() + file.at;
    file.stream.avail_in = static_cast<uInt>(file.end - file.at);
    file.stream.next_out = reinterpret_cast<Bytef*>(into + got);
    file.stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&file.stream, Z_NO_FLUSH);
    got += room - file.stream.avail_out;
    file.at = file.end - file.stream.avail_in;
    if (status == Z_STREAM_END) {
      end_member();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      const std::string_view reason = file.stream.msg != nullptr ? file.stream.msg : "no detail";
      // zlib's words for the two numbers behind the data: all of it is unpacked then. The length stands behind the checksum.
      if (reason == "incorrect data check" || reason == "incorrect length check") {
        wrong_checksum_ = reason;
        if (reason == "incorrect data check") file.at += file.has(4) ? 4 : file.end - file.at;
        end_member();
      } else {
        damage_ = reason;
        file.over = true;
      }
    }
  }
  return got;
}

void ByteSource::end_member() {
  if (file_->at_member() && inflateReset(&file_->stream) == Z_OK) return;
  file_->over = true;
  bytes_behind_ = file_bytes_ - std::min(file_bytes_, file_done());
}

std::uint64_t ByteSource::file_done() const { return file_->done - (file_->end - file_->at); }

}  // namespace sgsim
