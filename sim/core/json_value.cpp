#include "sim/core/json_value.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgsim {
namespace {

constexpr std::size_t kLongestExcerpt = 60;  // characters of a wrong value that a message shows

std::string excerpt(const nlohmann::json& json) {
  if (json.is_object()) return fmt::format("an object with {} members", json.size());
  if (json.is_array()) return fmt::format("a list with {} entries", json.size());
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestExcerpt) text = text.substr(0, kLongestExcerpt) + "...";
  return text;
}

/// One value on the way from the root to the one that is looked for.
struct Visit {
  const nlohmann::json* json;
  std::size_t parent;  // index in the list of visits
  std::string step;    // ".key" or "[index]"
};

std::string joined(const std::vector<Visit>& visits, std::size_t at) {
  std::vector<std::string_view> steps;
  for (; at != 0; at = visits[at].parent) steps.push_back(visits[at].step);
  std::string path = "$";
  for (std::size_t i = steps.size(); i-- > 0;) path += steps[i];
  return path;
}

}  // namespace

std::string JsonValue::path() const {
  std::vector<Visit> visits = {{root_, 0, ""}};
  for (std::size_t at = 0; at < visits.size(); ++at) {
    const nlohmann::json& json = *visits[at].json;
    if (&json == json_) return joined(visits, at);
    if (json.is_object()) {
      for (const auto& [key, value] : json.items()) visits.push_back({&value, at, fmt::format(".{}", key)});
    } else if (json.is_array()) {
      for (std::size_t i = 0; i < json.size(); ++i) visits.push_back({&json[i], at, fmt::format("[{}]", i)});
    }
  }
  return "$";
}

void JsonValue::fail(std::string_view expected, std::string_view hint) const {
  throw InputError({.file = *file_, .where = path(), .found = excerpt(*json_), .expected = std::string(expected), .hint = std::string(hint)});
}

JsonValue JsonValue::at(std::string_view key) const {
  check_object();
  const auto found = json_->find(key);
  if (found == json_->end()) fail(fmt::format("an object with the member \"{}\"", key));
  return {*found, *this};
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  check_object();
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return JsonValue(*found, *this);
}

JsonValue JsonValue::item(std::size_t index) const {
  if (index >= list_size()) fail(fmt::format("a list with at least {} entries", index + 1));
  return {(*json_)[index], *this};
}

std::size_t JsonValue::list_size() const {
  if (!json_->is_array()) fail("a list");
  return json_->size();
}

void JsonValue::check_object() const {
  if (!json_->is_object()) fail("an object");
}

void JsonValue::check_keys(std::initializer_list<std::string_view> known) const {
  check_object();
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    JsonValue(value, *this).fail(fmt::format("one of the members {}", fmt::join(known, ", ")), "remove or rename it");
  }
}

const std::string& JsonValue::text() const {
  if (!json_->is_string()) fail("a text");
  return json_->get_ref<const std::string&>();
}

std::int64_t JsonValue::integer() const {
  if (json_->is_number_unsigned() && json_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) fail("an integer below 2^63");
  if (!json_->is_number_integer()) fail("an integer");
  return json_->get<std::int64_t>();
}

std::int64_t JsonValue::integer_between(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (value < low || value > high) fail(fmt::format("an integer from {} to {}", low, high));
  return value;
}

double JsonValue::number() const {
  if (!json_->is_number()) fail("a number");
  return json_->get<double>();
}

bool JsonValue::flag() const {
  if (!json_->is_boolean()) fail("true or false");
  return json_->get<bool>();
}

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    const std::string message = error.what();
    std::size_t line = 1;
    if (const auto* parse_error = dynamic_cast<const nlohmann::json::parse_error*>(&error)) {
      const std::size_t end = std::min(parse_error->byte, text.size());
      line += static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    }
    const std::size_t detail = message.find("] ");
    throw InputError({.file = file, .where = fmt::format("line {}", line),
                      .found = detail == std::string::npos ? message : message.substr(detail + 2),
                      .expected = "a JSON document", .hint = ""});
  }
}

}  // namespace sgsim
