#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

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

/// Numbers, and numbers in quotes as protobuf's JSON writes 64-bit ones. Unsigned ones keep their 64 bits.
std::optional<std::int64_t> integer_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return static_cast<std::int64_t>(std::max(-9e15, std::min(9e15, json.get<double>())));
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Nothing for what is no whole number.
std::optional<std::uint64_t> id_of(const Json& json) {
  if (json.is_number_integer()) return static_cast<std::uint64_t>(json.get<std::int64_t>());
  if (json.is_number_float()) {
    const double value = json.get<double>();
    return value == std::floor(value) && std::abs(value) < 9e15 ? std::optional(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))) : std::nullopt;
  }
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const auto negative = integer_of(json);
  return negative ? std::optional(static_cast<std::uint64_t>(*negative)) : std::nullopt;
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

/// A node as it is read.
struct Reading {
  Node node;
  Diagnostics& report;

  void count(std::string_view what, Severity severity, std::string_view example) {
    const std::string label = node.numbered ? fmt::format("node {} \"{}\"", node.id, node.name) : fmt::format("node \"{}\"", node.name);
    report.add(fmt::format("import.chakra.{}", what), severity, fmt::format("{}: {}", label, example));
  }
};

void read_ids(const Json& json, std::vector<std::uint64_t>& ids, Reading& reading) {
  const auto add = [&](const Json& item) {
    if (const auto id = id_of(item)) ids.push_back(*id);
    else if (!item.is_null()) reading.count("unusable_dependency", Severity::error, fmt::format("on {}", item.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80)));
  };
  if (json.is_array()) {
    for (const Json& item : json) add(item);
  } else {
    add(json);
  }
}

/// A time of "start" or "duration" in microseconds; what is no time is 0 and counted. Fractions go to the attribute of exact times. What is too large is told where
/// times are used.
std::uint64_t micros_of(const Json& json, const char* what, Reading& reading) {
  constexpr double kExact = 4503599627370496.0;  // 2^52 us
  if (json.is_null()) return 0;
  const auto unusable = [&](const char* why) {
    reading.count(fmt::format("{}_{}", why, what), Severity::warning, fmt::format("{} us taken as 0", json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80)));
    return std::uint64_t{0};
  };
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>() < 0 ? unusable("negative") : static_cast<std::uint64_t>(json.get<std::int64_t>());
  if (json.is_number_float()) {
    const double value = json.get<double>();
    if (!(value >= 0.0)) return unusable("negative");
    if (value > kExact) return static_cast<std::uint64_t>(std::min(value, 9e18));
    if (value != std::floor(value)) reading.node.attributes.try_emplace(fmt::format("{}_ns", what), static_cast<std::int64_t>(std::llround(value * 1000.0)));
    return static_cast<std::uint64_t>(value);
  }
  const auto number = id_of(json);
  if (!number) return unusable("unusable");
  const std::string& text = json.get_ref<const std::string&>();
  return text.starts_with('-') && *number != 0 ? unusable("negative") : *number;
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

/// The id and the name, of which examples are called.
void read_name(const Json& json, Reading& reading) {
  const Json* id = nullptr;
  reading.node.numbered = false;
  for (const auto& [key, item] : json.items()) {
    const std::string word = plain(key);
    if (word == "name" && item.is_string()) reading.node.name = item.get<std::string>();
    if (word != "id") continue;
    id = &item;
    if (const auto number = id_of(item)) {
      reading.node.id = *number;
      reading.node.numbered = true;
    }
  }
  const auto text = [&] { return id == nullptr ? "none" : id->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80); };
  if (!reading.node.numbered) reading.count("unusable_id", Severity::error, fmt::format("its id is {}; it stays, nothing can depend on it", text()));
}

Node read_node(const Json& json, Diagnostics& report) {
  Reading reading{.node = {}, .report = report};
  read_name(json, reading);
  Node& node = reading.node;
  for (const auto& [key, item] : json.items()) {
    const std::string word = plain(key);
    if (word == "id" || (word == "name" && item.is_string())) {
      continue;
    } else if (word == "nodetype" || word == "type") {
      node.type = type_of(item);
    } else if (word == "ctrldeps" || word == "parent") {
      read_ids(item, node.control, reading);
    } else if (word == "datadeps" || word == "dep") {
      read_ids(item, node.data, reading);
    } else if (word == "runtime" || word == "durationmicros" || word == "duration") {
      node.duration_us = micros_of(item, "duration", reading);
    } else if (word == "starttimemicros" || word == "starttime") {
      node.start_us = micros_of(item, "start", reading);
    } else if (word == "attr" || word == "attribute") {
      read_attributes(item, node, report);
    } else if (word == "iscpuop") {
      node.attributes.insert_or_assign("is_cpu_op", value_of(item));
    } else if (item.is_primitive() && word != "inputs" && word != "outputs") {
      // "comm_size", "pg_name" and the like beside the node's own keys, in files without an attribute list.
      node.attributes.insert_or_assign(key, value_of(item));
    }
  }
  return std::move(reading.node);
}

/// Nodes without a usable id get one that no other node has and none depends on.
void number_rest(Document& document) {
  std::set<std::uint64_t> taken;
  for (const Node& node : document.nodes) {
    if (node.numbered) taken.insert(node.id);
    taken.insert(node.control.begin(), node.control.end());
    taken.insert(node.data.begin(), node.data.end());
  }
  std::uint64_t next = 0;
  for (Node& node : document.nodes) {
    if (node.numbered) continue;
    while (taken.contains(next)) ++next;
    node.id = next++;
  }
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
  if (std::any_of(document.nodes.begin(), document.nodes.end(), [](const Node& node) { return !node.numbered; })) number_rest(document);
  if (document.nodes.empty()) throw InputError({.file = file, .where = "$", .found = "no node", .expected = "a Chakra execution trace in JSON", .hint = ""});
  return document;
}

}  // namespace sgsim::import::chakra
