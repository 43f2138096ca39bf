#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"

namespace sgsim::cost {

/// One JSON object being read: each key must be asked for exactly by name, and `finish` refuses what nobody asked for.
/// Errors are InputErrors that name the file and the JSON path. For .cpp files only (it pulls in nlohmann/json).
class StrictObject {
 public:
  StrictObject(const nlohmann::json& value, std::string file, std::string path) : value_(value), file_(std::move(file)), path_(std::move(path)) {
    if (!value.is_object()) fail("", describe(value), "an object", "");
  }

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string path_of(std::string_view key) const { return path_ + "." + std::string(key); }
  [[nodiscard]] bool has(std::string_view key) const { return value_.contains(key); }

  [[noreturn]] void fail(std::string_view key, std::string found, std::string expected, std::string hint) const {
    throw InputError({.file = file_, .where = key.empty() ? path_ : path_of(key), .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
  }

  const nlohmann::json& at(std::string_view key) {
    const auto it = value_.find(key);
    if (it == value_.end()) fail(key, "nothing", "this key", "every key of the format is required unless its page says otherwise");
    used_.insert(std::string(key));
    return *it;
  }
  StrictObject object(std::string_view key) { return StrictObject(at(key), file_, path_of(key)); }

  std::string text(std::string_view key) {
    const nlohmann::json& v = at(key);
    if (!v.is_string()) fail(key, describe(v), "a string", "");
    return v.get<std::string>();
  }
  /// A finite number of at least `least`.
  double number(std::string_view key, double least) {
    const nlohmann::json& v = at(key);
    if (!v.is_number() || !(v.get<double>() >= least) || v.get<double>() > 1e300) fail(key, describe(v), "a number of at least " + nlohmann::json(least).dump(), "");
    return v.get<double>();
  }
  std::int64_t integer(std::string_view key, std::int64_t least) {
    const nlohmann::json& v = at(key);
    if (!fits(v, least)) fail(key, describe(v), "an integer of at least " + std::to_string(least), "");
    return v.get<std::int64_t>();
  }
  bool boolean(std::string_view key) {
    const nlohmann::json& v = at(key);
    if (!v.is_boolean()) fail(key, describe(v), "true or false", "");
    return v.get<bool>();
  }
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least) {
    const nlohmann::json& v = at(key);
    if (!v.is_array()) fail(key, describe(v), "an array of integers", "");
    std::vector<std::int64_t> result;
    result.reserve(v.size());
    for (const nlohmann::json& item : v) {
      if (!fits(item, least)) fail(std::string(key) + "[" + std::to_string(result.size()) + "]", describe(item), "an integer of at least " + std::to_string(least), "");
      result.push_back(item.get<std::int64_t>());
    }
    return result;
  }
  /// Calls `read(StrictObject&)` for each element of an array of objects.
  template <class Read>
  void each(std::string_view key, Read&& read) {
    const nlohmann::json& v = at(key);
    if (!v.is_array()) fail(key, describe(v), "an array of objects", "");
    for (std::size_t i = 0; i < v.size(); ++i) {
      StrictObject item(v[i], file_, path_of(key) + "[" + std::to_string(i) + "]");
      read(item);
      item.finish();
    }
  }
  /// Calls `read(key, StrictObject&)` for each member of an object of objects.
  template <class Read>
  void each_member(std::string_view key, Read&& read) {
    const nlohmann::json& v = at(key);
    if (!v.is_object()) fail(key, describe(v), "an object", "");
    for (const auto& [name, member] : v.items()) {
      StrictObject item(member, file_, path_of(key) + "." + name);
      read(name, item);
      item.finish();
    }
  }
  void finish() const {
    for (const auto& [key, unused] : value_.items()) {
      if (!used_.contains(key)) fail(key, "a key that the format does not have", "only the keys of docs/formats/profile.md", "remove it or mend its spelling");
    }
  }

 private:
  static bool fits(const nlohmann::json& v, std::int64_t least) {
    if (v.is_number_unsigned()) return v.get<std::uint64_t>() <= (std::uint64_t{1} << 62) && v.get<std::int64_t>() >= least;
    return v.is_number_integer() && v.get<std::int64_t>() >= least;
  }
  static std::string describe(const nlohmann::json& v) {
    const std::string text = v.dump();
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  }

  const nlohmann::json& value_;
  std::string file_, path_;
  std::set<std::string> used_;
};

}  // namespace sgsim::cost
