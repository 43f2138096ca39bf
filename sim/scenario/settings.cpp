#include "sim/scenario/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <variant>

#include "sim/core/error.h"
#include "sim/scenario/nearest.h"
#include "sim/scenario/read.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;
using Step = std::variant<std::string, std::size_t>;

std::string flag_of(const Setting& setting) { return "--set " + setting.path + "=" + setting.value; }

[[noreturn]] void malformed(const Setting& setting, std::string found) {
  throw InputError({.file = flag_of(setting), .where = "", .found = std::move(found),
                    .expected = "a path such as plan.tp or cluster.faults[0].factor", .hint = ""});
}

std::optional<std::size_t> as_index(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

/// "$.cluster.faults[0].factor" -> cluster, faults, 0, factor. A bare number between dots is an index as well.
std::vector<Step> split(const Setting& setting) {
  std::string_view rest = setting.path;
  if (rest.starts_with("$.")) rest.remove_prefix(2);
  std::vector<Step> steps;
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    std::string_view part = rest.substr(0, dot);
    const std::size_t bracket = part.find('[');
    const std::string_view name = part.substr(0, bracket);
    if (name.empty()) malformed(setting, "an empty step");
    if (const auto index = as_index(name)) {
      steps.emplace_back(*index);
    } else {
      steps.emplace_back(std::string(name));
    }
    part = bracket == std::string_view::npos ? std::string_view{} : part.substr(bracket);
    while (!part.empty()) {
      const std::size_t close = part.find(']');
      if (part.front() != '[' || close == std::string_view::npos) malformed(setting, fmt::format("'{}'", part));
      const auto index = as_index(part.substr(1, close - 1));
      if (!index) malformed(setting, fmt::format("the index '{}'", part.substr(1, close - 1)));
      steps.emplace_back(*index);
      part.remove_prefix(close + 1);
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
    if (rest.empty()) malformed(setting, "a path that ends in a dot");
  }
  if (steps.empty()) malformed(setting, "an empty path");
  return steps;
}

json value_of(const Setting& setting) {
  json value = json::parse(setting.value, nullptr, false);
  if (value.is_discarded()) return setting.value;
  return value;
}

/// Walks to the place of one step, making it if need be. `made` turns true at the first thing that was not there.
json& enter(json& at, const Step& step, const Setting& setting, const std::string& path, bool& made) {
  if (const auto* key = std::get_if<std::string>(&step)) {
    if (at.is_null()) at = json::object();
    if (!at.is_object()) {
      throw InputError({.file = flag_of(setting), .where = path, .found = describe(at) + " there, which has no member \"" + *key + "\"",
                        .expected = "an object at " + path, .hint = ""});
    }
    made = made || !at.contains(*key);
    return at[*key];
  }
  const std::size_t index = std::get<std::size_t>(step);
  if (at.is_null()) at = json::array();
  if (!at.is_array() || index > at.size()) {
    throw InputError({.file = flag_of(setting), .where = path, .found = describe(at) + " there",
                      .expected = fmt::format("a list that has an index {} or ends just before it", index), .hint = ""});
  }
  made = made || index == at.size();
  if (index == at.size()) at.push_back(nullptr);
  return at[index];
}

void take_away(json& parent, const Step& last) {
  if (const auto* key = std::get_if<std::string>(&last)) {
    parent.erase(*key);
  } else {
    parent.erase(std::get<std::size_t>(last));
  }
}

void apply(json& root, const Setting& setting, Document& document) {
  json* at = &root;
  json* parent = nullptr;
  std::string path = "$", changed;
  bool made = false;
  const std::vector<Step> steps = split(setting);
  for (const Step& step : steps) {
    parent = at;
    at = &enter(*at, step, setting, path, made);
    const auto* key = std::get_if<std::string>(&step);
    path += key != nullptr ? "." + *key : fmt::format("[{}]", std::get<std::size_t>(step));
    if (made && changed.empty()) changed = path;
  }
  *at = value_of(setting);
  // A member that was never there stays as a null, so that a misspelt path meets the reader's "unknown key".
  if (at->is_null() && !made) take_away(*parent, steps.back());
  document.set.emplace_back(changed.empty() ? path : changed, flag_of(setting));
}

}  // namespace

void apply_settings(json& root, std::span<const Setting> settings, Document& document) {
  if (!settings.empty() && !root.is_object()) fail_at(document, "$", describe(root), "an object {...}");
  for (const Setting& setting : settings) apply(root, setting, document);
}

Setting parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError({.file = "--set", .where = "", .found = "'" + std::string(text) + "'", .expected = "PATH=VALUE, such as plan.tp=8",
                      .hint = ""});
  }
  return {.path = std::string(text.substr(0, equals)), .value = std::string(text.substr(equals + 1))};
}

}  // namespace sgsim::scenario
