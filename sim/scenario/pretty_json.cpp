#include "sim/scenario/pretty_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sgsim::scenario {
namespace {

using json = nlohmann::ordered_json;

std::string compact(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

bool on_one_line(const json& value) {
  if (!value.is_structured() || value.empty()) return true;
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_number(); });
}

void append(std::string& text, const json& value, std::size_t depth) {
  if (on_one_line(value)) {
    text += compact(value);
    return;
  }
  const std::string indent(2 * depth + 2, ' ');
  text += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    text += first ? "\n" : ",\n";
    first = false;
    text += indent;
    if (value.is_object()) text += compact(key) + ": ";
    append(text, member, depth + 1);
  }
  text += "\n" + std::string(2 * depth, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string pretty(const json& value) {
  std::string text;
  append(text, value, 0);
  return text + "\n";
}

}  // namespace sgsim::scenario
