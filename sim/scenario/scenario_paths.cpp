#include "sim/scenario/scenario_paths.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

bool allows_object(const json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return false;
  return *type == "object" || (type->is_array() && std::find(type->begin(), type->end(), "object") != type->end());
}

/// `path` from `at` on, below `schema`.
bool has_path(const json& schema, const std::string& path, std::size_t at) {
  if (at > path.size()) return true;
  for (const char* choice : {"oneOf", "anyOf"}) {
    for (const json& alternative : schema.value(choice, json::array())) {
      if (has_path(alternative, path, at)) return true;
    }
  }
  const auto members = schema.find("properties");
  // An object whose members the schema does not list: somebody else's format, such as config.json.
  if (members == schema.end()) return allows_object(schema) && schema.value("additionalProperties", json(true)) != json(false);
  const std::size_t dot = std::min(path.find('.', at), path.size());
  const auto member = members->find(path.substr(at, dot - at));
  return member != members->end() && has_path(*member, path, dot + 1);
}

}  // namespace

bool is_scenario_path(const std::string& path) {
  static const json kSchema = [] {
    const std::string file = (std::filesystem::path(data_folder()) / "schema" / "scenario.schema.json").string();
    return parse_document(read_document_text(file), file);
  }();
  return has_path(kSchema, path, 0);
}

}  // namespace sgsim::scenario
