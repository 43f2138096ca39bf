#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace sgsim::import::kineto {

/// A file read front to back, unpacked when it is gzip. A gzip file that ends early gives what it has.
class ByteSource {
 public:
  /// Throws InputError when the file cannot be opened.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Reads up to `size` bytes; 0 at the end.
  [[nodiscard]] std::size_t read(char* into, std::size_t size);
  /// Why the file ended early, empty when it did not (known once `read` gave 0).
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }  // of the file, packed where it is
  [[nodiscard]] std::uint64_t file_done() const;
  [[nodiscard]] std::uint64_t text_done() const { return text_done_; }    // unpacked

 private:
  struct File;
  std::unique_ptr<File> file_;
  std::string damage_;
  std::uint64_t file_bytes_ = 0, text_done_ = 0;
};

}  // namespace sgsim::import::kineto
