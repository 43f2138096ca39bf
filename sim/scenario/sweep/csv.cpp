#include "sim/scenario/sweep/csv.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/scenario/sweep/columns.h"

namespace sgsim::scenario {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

/// A text value without its JSON quotes; anything else as JSON.
std::string plain(const std::string& value) {
  const nlohmann::json tree = nlohmann::json::parse(value, nullptr, false);
  return tree.is_string() ? tree.get<std::string>() : value;
}

}  // namespace

void write_csv(const std::string& path, const Sweep& sweep, ResultStore& store, const std::vector<PointKeys::Key>& keys) {
  std::string text = "number";
  for (const std::string& field : sweep.paths()) text += "," + quoted(field);
  text += ",status,reason";
  for (const char* column : kFigureColumns) text += std::string(",") + column;
  text += "\r\n";
  for (std::uint64_t point = 0; point < keys.size(); ++point) {
    text += std::to_string(point);
    for (const Setting& setting : settings_of(sweep, point)) text += "," + quoted(plain(setting.value));
    const auto outcome = store.find(keys[point]);
    SGSIM_CHECK(outcome.has_value(), "a finished sweep lacks point " + std::to_string(point));
    text += "," + std::string(label(outcome->status)) + "," + quoted(outcome->reason);
    for (const auto& figure : figures_of(outcome->report)) text += figure ? fmt::format(",{}", *figure) : ",";
    text += "\r\n";
  }
  const std::string draft = path + ".part";
  write_text_file(draft, text);
  std::error_code error;
  std::filesystem::rename(draft, path, error);
  if (error) throw EnvironmentError("cannot write " + path + ": " + error.message());
}

std::string settings_text(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) text += (text.empty() ? "" : " ") + setting.path + "=" + plain(setting.value);
  return text;
}

}  // namespace sgsim::scenario
