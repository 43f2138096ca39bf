#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sgsim {

/// What ByteSource::damage says of a gzip file whose end is missing.
inline constexpr const char* kEndsEarly = "unexpected end of file";

/// And of a file that the file system could not read to its end.
inline constexpr const char* kReadError = "the file system gives no more of it";

/// A file read front to back, unpacked when it is gzip (members one behind the other included). A gzip file that ends early, or is damaged, gives
/// every byte that could be unpacked before that.
class ByteSource {
 public:
  /// Throws InputError when the file cannot be opened.
  explicit ByteSource(const std::string& path);
  struct Content {
    std::string_view bytes;  // stay where they are
  };
  /// A file's content that is in memory already.
  explicit ByteSource(Content content);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Reads `size` bytes, fewer only at the end.
  [[nodiscard]] std::size_t read(char* into, std::size_t size);
  [[nodiscard]] bool packed() const;
  /// Why the file ended early, empty when it did not (known once `read` gave 0).
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// All could be unpacked, but it is not what the file's own checksum or length says; else empty (known at the end).
  [[nodiscard]] const std::string& wrong_checksum() const { return wrong_checksum_; }
  [[nodiscard]] std::uint64_t bytes_behind() const { return bytes_behind_; }  // behind the gzip data, left out (known at the end)
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }  // of the file, packed where it is; 0: not known (a pipe)
  [[nodiscard]] std::uint64_t file_done() const;
  [[nodiscard]] std::uint64_t text_done() const { return text_done_; }    // unpacked

 private:
  struct File;
  void begin();
  std::size_t unpack(char* into, std::size_t size);
  void end_member();

  std::unique_ptr<File> file_;
  std::string damage_, wrong_checksum_;
  std::uint64_t file_bytes_ = 0, text_done_ = 0, bytes_behind_ = 0;
};

}  // namespace sgsim
