#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

/// The part of JSON Schema that our schemas use, so that tests need no other program.
namespace sgsim::testing {

inline bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  return false;
}

inline void validate(const nlohmann::json& schema, const nlohmann::json& value, const std::string& path, std::vector<std::string>& errors) {
  const auto fail = [&](const std::string& what) { errors.push_back(path + ": " + what); };
  for (const auto& [key, rule] : schema.items()) {
    if (key == "type") {
      const nlohmann::json types = rule.is_array() ? rule : nlohmann::json::array({rule});
      const auto fits = [&](const nlohmann::json& type) { return has_type(value, type.get<std::string>()); };
      if (std::none_of(types.begin(), types.end(), fits)) fail("is no " + rule.dump());
    } else if (key == "const") {
      if (value != rule) fail("is not " + rule.dump());
    } else if (key == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) fail("is none of " + rule.dump());
    } else if (key == "minimum" && value.is_number()) {
      if (value < rule) fail("is below " + rule.dump());
    } else if (key == "maximum" && value.is_number()) {
      if (value > rule) fail("is above " + rule.dump());
    } else if (key == "exclusiveMinimum" && value.is_number()) {
      if (value <= rule) fail("is not above " + rule.dump());
    } else if (key == "minItems" && value.is_array()) {
      if (value.size() < rule.get<std::size_t>()) fail("has too few entries");
    } else if (key == "pattern" && value.is_string()) {
      if (!std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))) fail("does not look like " + rule.dump());
    } else if (key == "required" && value.is_object()) {
      for (const auto& name : rule) {
        if (!value.contains(name)) fail("lacks " + name.dump());
      }
    } else if (key == "properties" && value.is_object()) {
      for (const auto& [name, member] : value.items()) {
        if (rule.contains(name)) validate(rule[name], member, path + "." + name, errors);
      }
    } else if (key == "additionalProperties" && value.is_object()) {
      for (const auto& [name, member] : value.items()) {
        if (schema.value("properties", nlohmann::json::object()).contains(name)) continue;
        if (rule == false) fail("has an unknown member " + name);
        if (rule.is_object()) validate(rule, member, path + "." + name, errors);
      }
    } else if (key == "items" && value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) validate(rule, value[i], fmt::format("{}[{}]", path, i), errors);
    } else if (key == "anyOf" || key == "oneOf") {
      std::size_t matches = 0;
      std::string why;
      for (const auto& branch : rule) {
        std::vector<std::string> inner;
        validate(branch, value, path, inner);
        matches += inner.empty() ? 1 : 0;
        if (!inner.empty()) why += " / " + inner.front();
      }
      if (matches == 0 || (key == "oneOf" && matches > 1)) fail(fmt::format("fits {} of its alternatives{}", matches, why));
    } else if (key == "not") {
      std::vector<std::string> inner;
      validate(rule, value, path, inner);
      if (inner.empty()) fail("must not fit " + rule.dump());
    }
  }
}

/// What is wrong with a value, a line each; empty: it fits.
inline std::vector<std::string> problems(const nlohmann::json& schema, const nlohmann::json& value) {
  std::vector<std::string> errors;
  validate(schema, value, "$", errors);
  return errors;
}

}  // namespace sgsim::testing
