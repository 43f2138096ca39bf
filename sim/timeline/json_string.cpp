#include <fmt/format.h>

#include <iterator>

#include "sim/timeline/trace_writer.h"

namespace sgsim::timeline {
namespace {

/// Length of the UTF-8 character at the start of `text`; 0 when there is none (overlong forms, surrogates and values past
/// U+10FFFF included).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = first == 0xE0U && byte(1) < 0xA0U, surrogate = first == 0xEDU && byte(1) >= 0xA0U;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool overlong = first == 0xF0U && byte(1) < 0x90U, past = first == 0xF4U && byte(1) >= 0x90U;
    return overlong || past ? 0 : 4;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& into, std::string_view text) {
  into += '"';
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      into += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      into += '\\';
      into += c;
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      fmt::format_to(std::back_inserter(into), "\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      into += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  into += '"';
}

}  // namespace sgsim::timeline
