#include "sim/scenario/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/scenario/nearest.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

const json& empty_object() {
  static const json object = json::object();
  return object;
}

bool is_at_or_under(const std::string& path, const std::string& top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '.' || path[top.size()] == '[');
}

}  // namespace

void fail_at(const Document& document, const std::string& path, std::string found, std::string expected, std::string hint) {
  std::string file = document.file;
  for (const auto& [set_path, flag] : document.set) {
    if (is_at_or_under(path, set_path)) file = flag;
  }
  throw InputError({.file = std::move(file), .where = path, .found = std::move(found), .expected = std::move(expected),
                    .hint = std::move(hint)});
}

ObjectReader::ObjectReader(const json& value, std::string path, Document& document)
    : value_(&value), path_(std::move(path)), document_(&document) {
  if (!value.is_object()) fail_at(document, path_, describe(value), "an object {...}");
}

std::string ObjectReader::path_of(const std::string& key) const { return path_ + "." + key; }

void ObjectReader::fail(const std::string& key, std::string found, std::string expected, std::string hint) const {
  fail_at(*document_, path_of(key), std::move(found), std::move(expected), std::move(hint));
}

const json* ObjectReader::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return nullptr;
  return &*member;
}

const json& ObjectReader::require(const std::string& key, std::string_view expected) {
  const json* member = find(key);
  if (member != nullptr) return *member;
  // A key close to the missing one is the likelier mistake: name it here, or the reader would never reach `finish`.
  std::vector<std::string> present;
  for (const auto& [other, value] : value_->items()) present.push_back(other);
  const auto slip = nearest(key, present);
  fail(key, "nothing", std::string(expected), slip && *slip != key ? "Did you mean it by \"" + *slip + "\"?" : "");
}

const json* ObjectReader::defaulted(const std::string& key, bool has_fallback, std::string_view expected) {
  if (!has_fallback) return &require(key, expected);
  const json* member = find(key);
  if (member == nullptr) note_default(key);
  return member;
}

void ObjectReader::note_default(const std::string& key) { document_->defaults.push_back(path_of(key)); }

std::int64_t ObjectReader::integer(const std::string& key, Range range, std::optional<std::int64_t> fallback) {
  const std::string expected = fmt::format("a whole number from {} to {}", range.low, range.high);
  const json* member = defaulted(key, fallback.has_value(), expected);
  if (member == nullptr) return *fallback;
  const bool fits = member->is_number_integer() &&
                    (!member->is_number_unsigned() || member->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits) fail(key, describe(*member), expected);
  const auto value = member->get<std::int64_t>();
  if (value < range.low || value > range.high) fail(key, describe(*member), expected);
  return value;
}

double ObjectReader::number(const std::string& key, double low, double high, std::optional<double> fallback) {
  const std::string expected = fmt::format("a number from {} to {}", low, high);
  const json* member = defaulted(key, fallback.has_value(), expected);
  if (member == nullptr) return *fallback;
  if (!member->is_number()) fail(key, describe(*member), expected);
  const double value = member->get<double>();
  if (!std::isfinite(value) || value < low || value > high) fail(key, describe(*member), expected);
  return value;
}

bool ObjectReader::boolean(const std::string& key, std::optional<bool> fallback) {
  const json* member = defaulted(key, fallback.has_value(), "true or false");
  if (member == nullptr) return *fallback;
  if (!member->is_boolean()) fail(key, describe(*member), "true or false");
  return member->get<bool>();
}

std::string ObjectReader::text(const std::string& key, std::string_view expected, std::optional<std::string> fallback) {
  const json* member = defaulted(key, fallback.has_value(), expected);
  if (member == nullptr) return *fallback;
  if (!member->is_string()) fail(key, describe(*member), std::string(expected));
  if (member->get_ref<const std::string&>().find('\0') != std::string::npos) fail(key, "a text with a NUL character", std::string(expected));
  return member->get<std::string>();
}

template <class Value, class Parse>
Value ObjectReader::quantity(const std::string& key, std::optional<Value> fallback, std::string_view expected, Parse parse) {
  const json* member = defaulted(key, fallback.has_value(), expected);
  if (member == nullptr) return *fallback;
  if (!member->is_string()) {
    const std::string hint = member->is_number() ? "Say the unit: a bare number could mean anything" : "";
    fail(key, describe(*member), std::string(expected), hint);
  }
  try {
    return parse(member->get_ref<const std::string&>());
  } catch (const InputError& error) {
    fail(key, error.problem().found, error.problem().expected, error.problem().hint);
  }
}

Bytes ObjectReader::bytes(const std::string& key, std::optional<Bytes> fallback) {
  return quantity(key, fallback, "an amount of memory with its unit, such as \"80 GiB\" or \"25 MB\"", parse_bytes);
}

Seconds ObjectReader::seconds(const std::string& key, std::optional<Seconds> fallback) {
  return quantity(key, fallback, "a time with its unit, such as \"1.5 us\"", parse_seconds);
}

BytesPerSecond ObjectReader::bandwidth(const std::string& key, std::optional<BytesPerSecond> fallback) {
  return quantity(key, fallback, "a bandwidth with its unit, such as \"400 Gbit/s\" or \"25 GB/s\"", parse_bandwidth);
}

std::size_t ObjectReader::choice_index(const std::string& key, std::span<const std::string> names, bool has_fallback) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("\"" + name + "\"");
  const std::string expected = or_list(quoted);
  const json* member = defaulted(key, has_fallback, expected);
  if (member == nullptr) return names.size();
  if (!member->is_string()) fail(key, describe(*member), expected);
  const auto& word = member->get_ref<const std::string&>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == word) return i;
  }
  const auto slip = nearest(word, names);
  fail(key, describe(*member), expected, slip ? "Did you mean \"" + *slip + "\"?" : "");
}

ObjectReader ObjectReader::object(const std::string& key) {
  const json* member = find(key);
  return {member == nullptr ? empty_object() : *member, path_of(key), *document_};
}

void ObjectReader::finish() {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto slip = nearest(key, known_);
    fail(key, "an unknown key", "one of: " + fmt::format("{}", fmt::join(known_, ", ")),
         slip ? "Did you mean \"" + *slip + "\"?" : "");
  }
}

}  // namespace sgsim::scenario
