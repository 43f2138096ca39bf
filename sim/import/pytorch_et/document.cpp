#include "sim/import/pytorch_et/document.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/json_value.h"

namespace sgsim::import::pytorch_et {
namespace {

using Json = nlohmann::json;
constexpr int kDeepest = 32;

std::int64_t integer_of(const Json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
/// `object[group][key]` of the new schema, `object[old]` of the old one; null when absent.
const Json& part(const Json& object, const char* group, const char* key, const char* old) {
  static const Json kNothing;
  const auto outer = object.find(group);
  if (outer != object.end() && outer->is_object()) {
    const auto inner = outer->find(key);
    return inner != outer->end() ? *inner : kNothing;
  }
  const auto flat = object.find(old);
  return flat != object.end() ? *flat : kNothing;
}

/// Tensors among values: [tensor id, storage id, offset, elements, element size, device], also in lists.
void collect_tensors(const Json& value, std::vector<TensorRef>& tensors, int depth = 0) {
  if (!value.is_array() || depth > kDeepest) return;
  const bool tensor = value.size() == 6 && value[5].is_string() && value[0].is_number_integer() && value[1].is_number_integer();
  if (tensor) {
    tensors.push_back({.id = value[0].get<std::int64_t>(), .storage = value[1].get<std::int64_t>()});
    return;
  }
  for (const Json& item : value) collect_tensors(item, tensors, depth + 1);
}

double elements_of(const Json& value, int depth = 0) {
  if (!value.is_array() || depth > kDeepest) return 0.0;
  if (value.size() == 6 && value[5].is_string() && value[3].is_number()) return value[3].get<double>();
  double sum = 0.0;
  for (const Json& item : value) sum += elements_of(item, depth + 1);
  return sum;
}

/// "GenericList[Tensor(c10::Half)]" -> "c10::Half"; empty without tensor.
std::string element_type(const Json& types) {
  if (!types.is_array()) return {};
  for (const Json& type : types) {
    if (!type.is_string()) continue;
    const std::string& text = type.get_ref<const std::string&>();
    const std::size_t begin = text.find("Tensor(");
    if (begin != std::string::npos) return text.substr(begin + 7, text.find(')', begin) - begin - 7);
  }
  return {};
}

/// "[0,1,2]": text of a list of numbers; empty for other values.
std::string list_text(const Json& value) { return value.is_array() && !value.empty() ? value.dump() : std::string(); }

/// Old record_param_comms: (tensors), sequence, group, rank, "allreduce", in splits, out splits, [start, stride,] world size.
kineto::CommFacts facts_from_inputs(const Json& inputs, const Json& input_types, const Json& outputs) {
  kineto::CommFacts facts;
  std::size_t name_at = inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_string() && name_at == inputs.size()) name_at = i;
  }
  if (name_at == inputs.size()) return facts;
  facts.name = inputs[name_at].get<std::string>();
  if (name_at >= 2) {
    const Json& group = inputs[name_at - 2];
    if (group.is_array() && group.size() == 2 && group[0].is_string() && group[1].is_string()) {
      facts.group = group[0].get<std::string>();
      facts.description = group[1].get<std::string>();
    } else if (group.is_number_integer()) {
      facts.group = std::to_string(group.get<std::int64_t>());
    }
  }
  if (name_at + 2 < inputs.size()) {
    facts.in_split = list_text(inputs[name_at + 1]);
    facts.out_split = list_text(inputs[name_at + 2]);
  }
  if (inputs.back().is_number_integer() && inputs.size() > name_at + 3) facts.size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(inputs.back().get<std::int64_t>(), 0, 1 << 24));
  if (inputs[0].is_array()) facts.in_elements = elements_of(inputs[0]);
  if (outputs.is_array() && !outputs.empty()) facts.out_elements = elements_of(outputs[0]);
  facts.dtype = element_type(input_types);
  return facts;
}

/// What newer traces say in attributes.
void apply_attributes(const Json& attrs, kineto::CommFacts& facts) {
  for (const Json& attribute : attrs) {
    if (!attribute.is_object()) continue;
    const std::string name = text_of(attribute, "name");
    const auto value = attribute.find("value");
    if (value == attribute.end()) continue;
    if (value->is_string()) {
      const std::string& text = value->get_ref<const std::string&>();
      if (name == "collective_name") facts.name = text;
      if (name == "dtype") facts.dtype = text;
      if (name == "pg_name") facts.group = text;
      if (name == "pg_desc") facts.description = text;
      if (name == "in_split_size" && text != "[]") facts.in_split = text;
      if (name == "out_split_size" && text != "[]") facts.out_split = text;
    } else if (value->is_number_integer()) {
      const auto number = value->get<std::int64_t>();
      if (name == "in_msg_nelems" && number >= 0) facts.in_elements = static_cast<double>(number);
      if (name == "out_msg_nelems" && number >= 0) facts.out_elements = static_cast<double>(number);
      if (name == "pg_size" && number >= 0) facts.size = static_cast<std::uint32_t>(std::min<std::int64_t>(number, 1 << 24));
    }
  }
}

void read_groups(const Json& inputs, Document& document, Diagnostics& report) {
  if (!inputs.is_array() || inputs.empty() || !inputs[0].is_string()) return;
  const Json list = Json::parse(inputs[0].get_ref<const std::string&>(), nullptr, false);
  if (!list.is_array()) {
    report.add("import.pytorch_et.broken_groups", Severity::error, "the text of ## process_group:init ## is no JSON list");
    return;
  }
  for (const Json& item : list) {
    if (!item.is_object()) continue;
    ProcessGroup group{.name = text_of(item, "pg_name"), .description = text_of(item, "pg_desc"), .ranks = {}, .size = 0};
    if (group.name.empty()) group.name = std::to_string(integer_of(item, "pg_name", integer_of(item, "pg_id", -1)));
    if (const auto ranks = item.find("ranks"); ranks != item.end() && ranks->is_array()) {
      for (const Json& rank : *ranks) {
        if (rank.is_number_integer()) group.ranks.push_back(static_cast<std::int32_t>(rank.get<std::int64_t>()));
      }
    }
    group.size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(integer_of(item, "group_size", static_cast<std::int64_t>(group.ranks.size())), 0, 1 << 24));
    document.groups.push_back(std::move(group));
    report.add("import.pytorch_et.group", Severity::info, document.groups.back().name);
  }
}

Node read_node(const Json& json, const Document& document, std::size_t index) {
  Node node;
  node.id = integer_of(json, "id", -1);
  node.name = text_of(json, "name");
  if (node.id < 0 || !json.contains("name")) {
    throw InputError({.file = document.file, .where = fmt::format("$.nodes[{}]", index), .found = "a node without id or name", .expected = "\"id\" and \"name\"", .hint = ""});
  }
  node.parent = integer_of(json, "parent", integer_of(json, "ctrl_deps", -1));
  node.rf_id = integer_of(json, "rf_id", -1);
  node.tid = integer_of(json, "tid", 0);
  node.sequence = integer_of(json, "seq_id", -1);
  static const Json kNone = Json::array();
  const auto attrs = json.find("attrs");
  const Json& attributes = attrs != json.end() && attrs->is_array() ? *attrs : kNone;
  for (const Json& attribute : attributes) {
    const std::string name = attribute.is_object() ? text_of(attribute, "name") : std::string();
    if (name == "rf_id") node.rf_id = integer_of(attribute, "value", -1);
    if (name == "tid") node.tid = integer_of(attribute, "value", 0);
    if (name == "seq_id") node.sequence = integer_of(attribute, "value", -1);
  }
  const Json &inputs = part(json, "inputs", "values", "inputs"), &outputs = part(json, "outputs", "values", "outputs");
  const Json &shapes = part(json, "inputs", "shapes", "input_shapes"), &types = part(json, "inputs", "types", "input_types");
  collect_tensors(inputs, node.reads);
  collect_tensors(outputs, node.writes);
  if (shapes.is_array() && !shapes.empty()) node.shapes = shapes.dump() + " " + types.dump();
  if (node.name == "record_param_comms" && inputs.is_array()) {
    kineto::CommFacts facts = facts_from_inputs(inputs, types, outputs);
    apply_attributes(attributes, facts);
    node.communication = std::move(facts);
  }
  return node;
}

}  // namespace

Document parse_document(std::string_view text, const std::string& file, Diagnostics& report) {
  const Json root = parse_json(text, file);
  Document document;
  document.file = file;
  const auto nodes = root.is_object() ? root.find("nodes") : root.end();
  if (!root.is_object() || !root.contains("schema") || nodes == root.end() || !nodes->is_array()) {
    throw InputError({.file = file, .where = "$", .found = "no \"schema\" with a list of \"nodes\"", .expected = "a PyTorch execution trace", .hint = ""});
  }
  document.schema = text_of(root, "schema");
  if (!document.schema.starts_with("1.0.") && !document.schema.starts_with("1.1.")) {
    throw InputError({.file = file, .where = "$.schema", .found = "\"" + document.schema + "\"", .expected = "schema 1.0.1 to 1.1.1", .hint = ""});
  }
  document.pid = integer_of(root, "pid", -1);
  document.nodes.reserve(nodes->size());
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const Json& json = (*nodes)[i];
    if (!json.is_object()) {
      report.add("import.pytorch_et.broken_node", Severity::error, fmt::format("$.nodes[{}]", i));
      continue;
    }
    document.nodes.push_back(read_node(json, document, i));
    if (document.nodes.back().name == "## process_group:init ##") read_groups(part(json, "inputs", "values", "inputs"), document, report);
  }
  std::stable_sort(document.nodes.begin(), document.nodes.end(), [](const Node& a, const Node& b) { return a.id < b.id; });
  const auto repeated = std::unique(document.nodes.begin(), document.nodes.end(), [](const Node& a, const Node& b) { return a.id == b.id; });
  if (repeated != document.nodes.end()) {
    report.add("import.pytorch_et.repeated_id", Severity::error, fmt::format("{} nodes whose id another has", document.nodes.end() - repeated), static_cast<std::uint64_t>(document.nodes.end() - repeated));
    document.nodes.erase(repeated, document.nodes.end());
  }
  return document;
}

}  // namespace sgsim::import::pytorch_et
