#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/json_value.h"
#include "sim/import/chakra/document.h"

namespace sgsim::import::chakra {
namespace {

using Json = nlohmann::json;

/// "NodeType", "node_type", "nodeType" -> "nodetype".
std::string plain(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c != '_') text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

/// Numbers, and numbers in quotes as protobuf's JSON writes 64-bit ones.
std::optional<std::int64_t> integer_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return static_cast<std::int64_t>(std::max(-9e15, std::min(9e15, json.get<double>())));
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

NodeType type_of(const Json& json) {
  if (const auto number = integer_of(json)) return *number >= 0 && *number <= 7 ? static_cast<NodeType>(*number) : NodeType::invalid;
  static const std::map<std::string, NodeType> kNames = {{"METADATA_NODE", NodeType::metadata}, {"MEM_LOAD_NODE", NodeType::memory_load}, {"MEM_STORE_NODE", NodeType::memory_store}, {"COMP_NODE", NodeType::compute},
                                                         {"COMM_SEND_NODE", NodeType::send},    {"COMM_RECV_NODE", NodeType::receive},    {"COMM_COLL_NODE", NodeType::collective}};
  const auto found = json.is_string() ? kNames.find(json.get<std::string>()) : kNames.end();
  return found == kNames.end() ? NodeType::invalid : found->second;
}

Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (const auto number = integer_of(json)) return *number;
  if (json.is_string()) return json.get<std::string>();
  return {};
}

void read_ids(const Json& json, std::vector<std::uint64_t>& ids) {
  const auto add = [&](const Json& item) {
    if (const auto id = integer_of(item)) ids.push_back(static_cast<std::uint64_t>(*id));
  };
  if (json.is_array()) {
    for (const Json& item : json) add(item);
  } else {
    add(json);
  }
}

/// [{"name": "comm_size", "int64Val": "4"}, ...]
void read_attributes(const Json& json, Node& node, Diagnostics& report) {
  if (!json.is_array()) return;
  for (const Json& attribute : json) {
    if (!attribute.is_object()) continue;
    std::string name;
    Value value;
    for (const auto& [key, item] : attribute.items()) {
      const std::string word = plain(key);
      if (word == "name" && item.is_string()) {
        name = item.get<std::string>();
      } else if (word.ends_with("list")) {
        report.add("import.chakra.list_attribute", Severity::error, name);
      } else if (word == "stringval" && item.is_string()) {
        value = item.get<std::string>();
      } else if (word != "docstring" && word != "type") {
        value = value_of(item);
      }
    }
    node.attributes.insert_or_assign(std::move(name), std::move(value));
  }
}

Node read_node(const Json& json, Diagnostics& report) {
  Node node;
  for (const auto& [key, item] : json.items()) {
    const std::string word = plain(key);
    if (word == "id") {
      node.id = static_cast<std::uint64_t>(integer_of(item).value_or(0));
    } else if (word == "name" && item.is_string()) {
      node.name = item.get<std::string>();
    } else if (word == "nodetype" || word == "type") {
      node.type = type_of(item);
    } else if (word == "ctrldeps" || word == "parent") {
      read_ids(item, node.control);
    } else if (word == "datadeps" || word == "dep") {
      read_ids(item, node.data);
    } else if (word == "runtime" || word == "durationmicros" || word == "duration") {
      node.duration_us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_of(item).value_or(0)));
    } else if (word == "starttimemicros" || word == "starttime") {
      node.start_us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_of(item).value_or(0)));
    } else if (word == "attr" || word == "attribute") {
      read_attributes(item, node, report);
    } else if (word == "iscpuop") {
      node.attributes.insert_or_assign("is_cpu_op", value_of(item));
    } else if (item.is_primitive() && word != "inputs" && word != "outputs") {
      // "comm_size", "pg_name" and the like beside the node's own keys, in files without an attribute list.
      node.attributes.insert_or_assign(key, value_of(item));
    }
  }
  return node;
}

/// One value after the other: protobuf's JSON of a stream.
std::vector<Json> values_of(std::string_view text, const std::string& file) {
  std::vector<Json> values;
  std::size_t depth = 0, begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') {
      if (depth++ == 0) begin = i;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      values.push_back(parse_json(text.substr(begin, i + 1 - begin), file));
    }
  }
  if (depth > 0) (void)parse_json(text.substr(begin), file);  // says where it ends early
  return values;
}

void add_nodes(const Json& json, Document& document, Diagnostics& report) {
  if (json.is_array()) {
    for (const Json& item : json) {
      if (item.is_object()) document.nodes.push_back(read_node(item, report));
    }
    return;
  }
  for (const auto& [key, item] : json.items()) {
    const std::string word = plain(key);
    if (item.is_array() && (word == "workloadgraph" || word == "nodes")) {
      add_nodes(item, document, report);
      return;
    }
  }
  bool node = false;
  for (const auto& [key, item] : json.items()) node = node || plain(key) == "id" || plain(key) == "nodetype" || (plain(key) == "type" && item.is_string());
  if (node) {
    document.nodes.push_back(read_node(json, report));
  } else if (const auto version = json.find("version"); version != json.end() && version->is_string()) {
    document.version = version->get<std::string>();
    report.add("import.chakra.metadata", Severity::info, "schema " + document.version);
  }
}

}  // namespace

std::optional<std::int64_t> Node::integer(std::string_view key) const {
  const auto found = attributes.find(key);
  if (found == attributes.end()) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&found->second)) return *number;
  if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? 1 : 0;
  if (const auto* real = std::get_if<double>(&found->second); real != nullptr && *real >= -9e15 && *real <= 9e15) return static_cast<std::int64_t>(*real);
  if (const auto* text = std::get_if<std::string>(&found->second)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && end == text->data() + text->size()) return value;
  }
  return std::nullopt;
}
std::optional<bool> Node::flag(std::string_view key) const {
  const auto number = integer(key);
  return number ? std::optional(*number != 0) : std::nullopt;
}
std::string Node::text(std::string_view key) const {
  const auto found = attributes.find(key);
  if (found == attributes.end()) return {};
  if (const auto* text = std::get_if<std::string>(&found->second)) return *text;
  const auto number = integer(key);
  return number ? std::to_string(*number) : std::string();
}

Document parse_json_form(std::string_view text, const std::string& file, Diagnostics& report) {
  Document document;
  document.file = file;
  for (const Json& value : values_of(text, file)) add_nodes(value, document, report);
  if (document.nodes.empty()) throw InputError({.file = file, .where = "$", .found = "no node", .expected = "a Chakra execution trace in JSON", .hint = ""});
  return document;
}

}  // namespace sgsim::import::chakra
