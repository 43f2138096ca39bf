#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/quantity.h"

namespace sgsim::scenario {

/// Where a hand-written document came from, and what was filled in while it was read.
struct Document {
  std::string file;                                        // as the user named it
  std::vector<std::pair<std::string, std::string>> set;    // "$.plan.tp" -> "--set plan.tp=8": errors there name it
  std::vector<std::string> defaults;                       // JSON paths that the document left out, in reading order
};

/// Parses hand-written JSON: refuses duplicate keys, more than 64 MiB, and nesting deeper than 64. Throws InputError
/// with line and column.
[[nodiscard]] nlohmann::json parse_document(std::string_view text, const std::string& file);
/// Text of a document, unpacked if it is gzip. A missing or unreadable file is an InputError that names it.
[[nodiscard]] std::string read_document_text(const std::string& path);

/// "an object with 3 keys", "\"80 GiB\"", "12": what an error says it found.
[[nodiscard]] std::string describe(const nlohmann::json& value);

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

template <class Enum>
using Choices = std::span<const std::pair<std::string_view, Enum>>;

/// Reads one JSON object key by key. Every key that is asked for is known; `finish` refuses all others and names the
/// nearest known one. A member with a default may be absent or null; its path then joins Document::defaults.
class ObjectReader {
 public:
  /// `value` must outlive the reader; anything but an object is an InputError.
  ObjectReader(const nlohmann::json& value, std::string path, Document& document);

  /// The member, or nullptr when it is absent or null. Marks the key as known.
  const nlohmann::json* find(const std::string& key);
  /// The member, which must be there. `expected` says what it should be.
  const nlohmann::json& require(const std::string& key, std::string_view expected);
  [[nodiscard]] bool has(const std::string& key) { return find(key) != nullptr; }

  std::int64_t integer(const std::string& key, Range range, std::optional<std::int64_t> fallback = std::nullopt);
  double number(const std::string& key, double low, double high, std::optional<double> fallback = std::nullopt);
  bool boolean(const std::string& key, std::optional<bool> fallback = std::nullopt);
  std::string text(const std::string& key, std::string_view expected, std::optional<std::string> fallback = std::nullopt);
  Bytes bytes(const std::string& key, std::optional<Bytes> fallback = std::nullopt);
  Seconds seconds(const std::string& key, std::optional<Seconds> fallback = std::nullopt);
  BytesPerSecond bandwidth(const std::string& key, std::optional<BytesPerSecond> fallback = std::nullopt);
  template <class Enum>
  Enum choice(const std::string& key, Choices<Enum> choices, std::optional<Enum> fallback = std::nullopt);
  /// A reader of a member object; an absent one reads as empty (each of its members takes its own default).
  ObjectReader object(const std::string& key);

  /// Notes that `key` was left out and took its default.
  void note_default(const std::string& key);
  /// Refuses every key that was not asked for.
  void finish();

  [[noreturn]] void fail(const std::string& key, std::string found, std::string expected, std::string hint = {}) const;
  [[nodiscard]] std::string path_of(const std::string& key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Document& document() const { return *document_; }

 private:
  const nlohmann::json* defaulted(const std::string& key, bool has_fallback, std::string_view expected);
  template <class Value, class Parse>
  Value quantity(const std::string& key, std::optional<Value> fallback, std::string_view expected, Parse parse);
  std::size_t choice_index(const std::string& key, std::span<const std::string> names, bool has_fallback);

  const nlohmann::json* value_;
  std::string path_;
  Document* document_;
  std::vector<std::string> known_;
};

/// Throws the InputError of a path of the document, naming "--set" when the value there came from it.
[[noreturn]] void fail_at(const Document& document, const std::string& path, std::string found, std::string expected,
                          std::string hint = {});

template <class Enum>
Enum ObjectReader::choice(const std::string& key, Choices<Enum> choices, std::optional<Enum> fallback) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.emplace_back(name);
  const std::size_t index = choice_index(key, names, fallback.has_value());
  return index < choices.size() ? choices[index].second : *fallback;
}

/// The name of a value in its table of choices.
template <class Enum>
std::string_view name_of(Choices<Enum> choices, Enum value) {
  for (const auto& [name, candidate] : choices) {
    if (candidate == value) return name;
  }
  return {};
}

}  // namespace sgsim::scenario
