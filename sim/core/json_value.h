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
  /// The root of a document.
  JsonValue(const nlohmann::json& root, const std::string& file) : json_(&root), root_(&root), file_(&file) {}

  [[nodiscard]] const nlohmann::json& json() const { return *json_; }
  /// "$.plan.tp", "$.graphs[0].nodes[3]": looked up in the document, so it costs as much as reading through it.
  [[nodiscard]] std::string path() const;
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
  JsonValue(const nlohmann::json& json, const JsonValue& parent) : json_(&json), root_(parent.root_), file_(parent.file_) {}

  const nlohmann::json* json_;
  const nlohmann::json* root_;
  const std::string* file_;
};

/// Parses JSON text; a syntax error becomes an InputError with line and column.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace sgsim
