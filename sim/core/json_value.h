#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"

namespace sgsim {

/// A value inside a JSON file that knows where it stands, so that each complaint names file and JSON path.
/// Include from source files only (the JSON library is heavy). The document must outlive its values.
class JsonValue {
 public:
  JsonValue(const nlohmann::json& json, const std::string& file, std::string path)
      : json_(&json), file_(&file), path_(std::move(path)) {}

  [[nodiscard]] const nlohmann::json& json() const { return *json_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_null() const { return json_->is_null(); }

  /// A member that must be there / that may be absent or null.
  [[nodiscard]] JsonValue at(std::string_view key) const;
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;
  [[nodiscard]] JsonValue item(std::size_t index) const;
  /// Number of entries; fails unless this is a list.
  [[nodiscard]] std::size_t list_size() const;
  void check_object() const;
  /// Fails on a member that is none of `known`.
  void check_keys(std::initializer_list<std::string_view> known) const;

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::int64_t integer_between(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool flag() const;

  [[noreturn]] void fail(std::string_view expected, std::string_view hint = "") const;

 private:
  const nlohmann::json* json_;
  const std::string* file_;
  std::string path_;
};

/// Parses JSON text; a syntax error becomes an InputError with line and column.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace sgsim
