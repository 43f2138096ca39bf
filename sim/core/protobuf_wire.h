#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::protobuf {

/// How a field is encoded (protobuf.dev, "Encoding"). Groups, deprecated since 2008, are damage.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;   // of varint and fixed fields
  std::string_view bytes;    // of strings, messages and packed lists: points into the message

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  [[nodiscard]] std::int64_t zigzag() const { return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U); }
  [[nodiscard]] double as_double() const;  // of a fixed64 field
  [[nodiscard]] float as_float() const;    // of a fixed32 field
};

/// The fields of one message in file order, without a schema. Nothing is copied.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}
  /// The next field; nothing at the end and where the bytes are no message (then `damaged`).
  [[nodiscard]] std::optional<Field> next();
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  bool damaged_ = false;
};

/// Takes a varint off the front; false, and `bytes` as it was, when there is no whole one.
[[nodiscard]] bool take_varint(std::string_view& bytes, std::uint64_t& value);

/// Values of a repeated integer field, packed or one by one; false when the packed bytes are damaged.
[[nodiscard]] bool append_integers(const Field& field, std::vector<std::int64_t>& values);

/// Builds a message. Fields stand in call order; zero values are written too (proto2, and oneofs of proto3).
class Writer {
 public:
  Writer& varint(std::uint32_t number, std::uint64_t value);
  Writer& integer(std::uint32_t number, std::int64_t value) { return varint(number, static_cast<std::uint64_t>(value)); }
  Writer& fixed64(std::uint32_t number, double value);
  Writer& fixed64_bits(std::uint32_t number, std::uint64_t value);
  Writer& text(std::uint32_t number, std::string_view bytes);
  Writer& message(std::uint32_t number, const Writer& inner) { return text(number, inner.bytes()); }
  Writer& packed(std::uint32_t number, const std::vector<std::uint64_t>& values);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void tag(std::uint32_t number, Wire wire);
  std::string bytes_;
};

/// Appends a varint, such as the length before each message of a stream.
void put_varint(std::string& out, std::uint64_t value);

}  // namespace sgsim::protobuf
