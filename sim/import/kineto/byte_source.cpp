#include "sim/import/kineto/byte_source.h"

#include <zlib.h>

#include <filesystem>

#include "sim/core/error.h"

namespace sgsim::import::kineto {

struct ByteSource::File {
  gzFile handle = nullptr;
};

ByteSource::ByteSource(const std::string& path) : file_(std::make_unique<File>()) {
  if (std::filesystem::is_regular_file(path)) file_->handle = gzopen(path.c_str(), "rb");
  if (file_->handle == nullptr) {
    throw InputError({.file = path, .where = "", .found = "no readable file", .expected = "a trace", .hint = ""});
  }
  gzbuffer(file_->handle, 1 << 16);  // plain files are read into the caller's buffer as soon as that is twice as large
  file_bytes_ = std::filesystem::file_size(path);
}

ByteSource::~ByteSource() { gzclose(file_->handle); }

std::size_t ByteSource::read(char* into, std::size_t size) {
  const int got = gzread(file_->handle, into, static_cast<unsigned>(size));
  if (got < 0) {
    int code = 0;
    damage_ = gzerror(file_->handle, &code);
    return 0;
  }
  if (static_cast<std::size_t>(got) < size) {  // zlib gives what it has and says at the end that the stream stopped early
    int code = 0;
    const char* text = gzerror(file_->handle, &code);
    if (code == Z_BUF_ERROR || code == Z_DATA_ERROR) damage_ = text;
  }
  text_done_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

std::uint64_t ByteSource::file_done() const {
  const auto at = gzoffset(file_->handle);
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

}  // namespace sgsim::import::kineto
