#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/error.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sections.h"
#include "sim/scenario/sweep/sweep.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostPoints = 100'000;
constexpr double kLargest = 1e15;

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

/// "from" 1 "to" 8 with "step" 1 or "times" 2; whole numbers stay whole.
std::vector<std::vector<std::string>> read_range(ObjectReader& section) {
  const double from = section.number("from", -kLargest, kLargest), to = section.number("to", -kLargest, kLargest);
  const bool times = section.has("times"), step = section.has("step");
  if (times == step) section.fail("step", times ? "both \"step\" and \"times\"" : "neither \"step\" nor \"times\"", "one of them", "");
  const double by = times ? section.number("times", 1.000001, 1e6) : section.number("step", 1e-12, kLargest);
  if (to < from || (times && from <= 0.0)) section.fail("to", describe(json(to)), times ? "\"from\" above 0 and \"to\" not below it" : "a number not below \"from\"");
  std::vector<std::vector<std::string>> values;
  // A hair of slack, so that 0.1 in steps of 0.1 reaches 0.3.
  const double last = to + 1e-9 * std::max(std::abs(to), by);
  double value = from;
  for (std::uint64_t i = 0; value <= last; ++i) {
    if (i == kMostPoints) section.fail("to", describe(json(to)), fmt::format("at most {} steps", kMostPoints));
    const bool whole = value == std::floor(value) && std::abs(value) < 9e15;
    values.push_back({whole ? std::to_string(static_cast<std::int64_t>(value)) : text_of(json(value))});
    value = times ? value * by : from + static_cast<double>(i + 1) * by;
  }
  return values;
}

std::vector<std::vector<std::string>> read_values(ObjectReader& section, const json& list, std::size_t paths) {
  if (!list.is_array() || list.empty()) section.fail("values", describe(list), "a list of at least one value");
  std::vector<std::vector<std::string>> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json& item = list[i];
    std::vector<std::string> step;
    if (paths == 1) {
      step = {text_of(item)};
    } else {
      if (!item.is_array() || item.size() != paths) section.fail(fmt::format("values[{}]", i), describe(item), fmt::format("a list of {} values, one a path", paths));
      for (const json& value : item) step.push_back(text_of(value));
    }
    values.push_back(std::move(step));
  }
  return values;
}

std::vector<std::string> read_paths(ObjectReader& section) {
  const bool one = section.has("path"), several = section.has("paths");
  if (one && several) section.fail("paths", "both \"path\" and \"paths\"", "one of them");
  if (!several) return {section.text("path", "the path of a scenario field, such as \"plan.tp\"")};
  const json& list = *section.find("paths");
  if (!list.is_array() || list.empty()) section.fail("paths", describe(list), "a list of paths");
  std::vector<std::string> paths;
  for (const json& item : list) {
    if (!item.is_string()) section.fail("paths", describe(item), "a text in each entry");
    paths.push_back(item.get<std::string>());
  }
  return paths;
}

Axis read_axis(const json& value, const std::string& path, Document& document) {
  ObjectReader section(value, path, document);
  Axis axis;
  axis.paths = read_paths(section);
  const json* list = section.find("values");
  const bool range = section.has("from") || section.has("to") || section.has("step") || section.has("times");
  if ((list != nullptr) == range) section.fail("values", range ? "both \"values\" and a range" : "nothing", "\"values\": [...], or \"from\", \"to\" and \"step\" or \"times\"");
  if (range && axis.paths.size() != 1) section.fail("paths", "several paths with a range", "\"values\" for several paths");
  axis.values = range ? read_range(section) : read_values(section, *list, axis.paths.size());
  section.finish();
  return axis;
}

std::vector<Setting> read_set(ObjectReader& root) {
  const json* object = root.find("set");
  if (object == nullptr) return {};
  if (!object->is_object()) root.fail("set", describe(*object), "an object of paths and values");
  std::vector<Setting> settings;
  for (const auto& [path, value] : object->items()) settings.push_back({path, text_of(value)});
  return settings;
}

void check(const Sweep& sweep, ObjectReader& root) {
  std::set<std::string> seen;
  for (const std::string& path : sweep.paths()) {
    if (!seen.insert(path).second) root.fail("axes", "the path \"" + path + "\" twice", "each path on one axis");
  }
  double points = 1.0;
  for (const Axis& axis : sweep.axes) points *= static_cast<double>(axis.values.size());
  if (points > static_cast<double>(kMostPoints)) root.fail("axes", fmt::format("{:.4g} points", points), fmt::format("at most {}", kMostPoints), "Sweep coarser, or ask the planner");
}

}  // namespace

Sweep sweep_from_text(std::string_view text, const std::string& file, const std::string& folder) {
  const json tree = parse_document(text, file);
  Document document{.file = file, .set = {}, .defaults = {}};
  ObjectReader root(tree, "$", document);
  Sweep sweep;
  sweep.file = file;
  (void)root.integer("schema_version", {1, 1});
  sweep.description = root.text("description", "a text", std::string());
  sweep.scenario = resolve(root.text("scenario", "path of a scenario file"), folder);
  sweep.set = read_set(root);
  const json& axes = root.require("axes", "a list of axes");
  if (!axes.is_array() || axes.empty()) root.fail("axes", describe(axes), "a list of at least one axis");
  for (std::size_t i = 0; i < axes.size(); ++i) sweep.axes.push_back(read_axis(axes[i], fmt::format("$.axes[{}]", i), document));
  root.finish();
  check(sweep, root);
  return sweep;
}

Sweep read_sweep(const std::string& path) {
  return sweep_from_text(read_document_text(path), path, std::filesystem::path(path).parent_path().string());
}

std::uint64_t Sweep::points() const {
  std::uint64_t points = 1;
  for (const Axis& axis : axes) points *= axis.values.size();
  return points;
}

std::vector<std::string> Sweep::paths() const {
  std::vector<std::string> all;
  for (const Axis& axis : axes) all.insert(all.end(), axis.paths.begin(), axis.paths.end());
  return all;
}

std::vector<Setting> settings_of(const Sweep& sweep, std::uint64_t point) {
  SGSIM_CHECK(point < sweep.points(), "no such point");
  std::vector<std::uint64_t> step(sweep.axes.size());
  for (std::size_t a = sweep.axes.size(); a-- > 0;) {
    step[a] = point % sweep.axes[a].values.size();
    point /= sweep.axes[a].values.size();
  }
  std::vector<Setting> settings;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const Axis& axis = sweep.axes[a];
    for (std::size_t p = 0; p < axis.paths.size(); ++p) settings.push_back({axis.paths[p], axis.values[step[a]][p]});
  }
  return settings;
}

}  // namespace sgsim::scenario
