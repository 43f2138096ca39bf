#include "sim/core/protobuf_wire.h"

#include <bit>

namespace sgsim::protobuf {
namespace {

constexpr int kLongestVarint = 10;

bool take_fixed(std::string_view& bytes, std::size_t size, std::uint64_t& value) {
  if (bytes.size() < size) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(size);
  return true;
}

bool take_value(std::string_view& bytes, Field& field) {
  switch (field.wire) {
    case Wire::varint: return take_varint(bytes, field.value);
    case Wire::fixed64: return take_fixed(bytes, 8, field.value);
    case Wire::fixed32: return take_fixed(bytes, 4, field.value);
    case Wire::bytes: {
      std::uint64_t size = 0;
      if (!take_varint(bytes, size) || size > bytes.size()) return false;
      field.bytes = bytes.substr(0, size);
      bytes.remove_prefix(size);
      return true;
    }
  }
  return false;
}

}  // namespace

double Field::as_double() const { return std::bit_cast<double>(value); }
float Field::as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  std::uint64_t result = 0;
  for (int i = 0; i < kLongestVarint && static_cast<std::size_t>(i) < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    result |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80U) {
      value = result;
      bytes.remove_prefix(static_cast<std::size_t>(i) + 1);
      return true;
    }
  }
  return false;
}

std::optional<Field> Message::next() {
  if (rest_.empty() || damaged_) return std::nullopt;
  std::uint64_t tag = 0;
  Field field;
  std::string_view rest = rest_;
  if (take_varint(rest, tag) && (tag >> 3U) != 0 && (tag >> 3U) < (1U << 29U)) {
    field.number = static_cast<std::uint32_t>(tag >> 3U);
    field.wire = static_cast<Wire>(tag & 7U);
    if (take_value(rest, field)) {
      rest_ = rest;
      return field;
    }
  }
  damaged_ = true;
  return std::nullopt;
}

bool append_integers(const Field& field, std::vector<std::int64_t>& values) {
  if (field.wire != Wire::bytes) {
    values.push_back(field.integer());
    return true;
  }
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    std::uint64_t value = 0;
    if (!take_varint(rest, value)) return false;
    values.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80U) {
    out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

void Writer::tag(std::uint32_t number, Wire wire) { put_varint(bytes_, (static_cast<std::uint64_t>(number) << 3U) | static_cast<std::uint64_t>(wire)); }

Writer& Writer::varint(std::uint32_t number, std::uint64_t value) {
  tag(number, Wire::varint);
  put_varint(bytes_, value);
  return *this;
}

Writer& Writer::fixed64(std::uint32_t number, double value) { return fixed64_bits(number, std::bit_cast<std::uint64_t>(value)); }

Writer& Writer::fixed64_bits(std::uint32_t number, std::uint64_t value) {
  tag(number, Wire::fixed64);
  for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
  return *this;
}

Writer& Writer::text(std::uint32_t number, std::string_view bytes) {
  tag(number, Wire::bytes);
  put_varint(bytes_, bytes.size());
  bytes_ += bytes;
  return *this;
}

Writer& Writer::packed(std::uint32_t number, const std::vector<std::uint64_t>& values) {
  std::string inner;
  for (const std::uint64_t value : values) put_varint(inner, value);
  return text(number, inner);
}

}  // namespace sgsim::protobuf
