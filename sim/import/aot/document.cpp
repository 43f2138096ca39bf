#include "sim/import/aot/document.h"

#include <unordered_set>

#include <fmt/format.h>

#include "sim/core/json_value.h"
#include "sim/graph/tensor_json.h"

namespace sgsim::import::aot {
namespace {

RawArgument parse_argument(const JsonValue& value, int depth) {
  const nlohmann::json& json = value.json();
  switch (json.type()) {
    case nlohmann::json::value_t::null: return {};
    case nlohmann::json::value_t::boolean: return {json.get<bool>()};
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned: return {value.integer()};
    case nlohmann::json::value_t::number_float: return {json.get<double>()};
    case nlohmann::json::value_t::string: {
      if (const auto number = graph::number_from_name(value.text())) return {*number};
      return {value.text()};
    }
    case nlohmann::json::value_t::object:
      value.check_keys({"node"});
      return {RawReference{value.at("node").text()}};
    case nlohmann::json::value_t::array: {
      if (depth >= graph::kDeepestList) value.fail(fmt::format("at most {} lists inside each other", graph::kDeepestList));
      RawList list;
      for (std::size_t i = 0; i < json.size(); ++i) list.push_back(parse_argument(value.item(i), depth + 1));
      return {std::move(list)};
    }
    default: value.fail("null, a number, a text, a list or {\"node\": name}");
  }
}

std::vector<graph::TensorType> parse_outs(const JsonValue& value) {
  if (value.is_null()) return {graph::absent()};
  if (value.json().is_object()) return {graph::tensor_from_json(value)};
  std::vector<graph::TensorType> outs;
  for (std::size_t i = 0; i < value.list_size(); ++i) {
    const JsonValue item = value.item(i);
    outs.push_back(item.is_null() ? graph::absent() : graph::tensor_from_json(item));
  }
  return outs;
}

RawKind parse_kind(const JsonValue& value) {
  if (value.text() == "placeholder") return RawKind::placeholder;
  if (value.text() == "call_function") return RawKind::call;
  if (value.text() == "output") return RawKind::output;
  value.fail("\"placeholder\", \"call_function\" or \"output\"", "capture with traces/capture/capture_graph.py");
}

void parse_module(const JsonValue& value, RawNode& node) {
  if (value.list_size() != 2) value.fail("[path, class] or null");
  node.module = value.item(0).text();
  node.module_type = value.item(1).text();
  node.has_module = true;
}

RawNode parse_node(const JsonValue& value, std::string path) {
  value.check_keys({"name", "op", "target", "args", "kwargs", "out", "module", "seq_nr"});
  RawNode node;
  node.path = std::move(path);
  node.name = value.at("name").text();
  node.kind = parse_kind(value.at("op"));
  node.target = value.at("target").text();
  const JsonValue args = value.at("args");
  for (std::size_t i = 0; i < args.list_size(); ++i) node.args.push_back(parse_argument(args.item(i), 0));
  const JsonValue kwargs = value.at("kwargs");
  kwargs.check_object();
  for (const auto& [key, argument] : kwargs.json().items()) node.kwargs.emplace(key, parse_argument(kwargs.at(key), 0));
  node.outs = parse_outs(value.at("out"));
  if (const auto module = value.find("module")) parse_module(*module, node);
  if (const auto seq_nr = value.find("seq_nr")) node.seq_nr = seq_nr->integer();
  return node;
}

void check_references(const RawArgument& argument, const std::unordered_set<std::string_view>& known, const RawNode& node,
                      const std::string& file) {
  if (const auto* reference = std::get_if<RawReference>(&argument.value)) {
    if (known.contains(reference->name)) return;
    throw InputError({.file = file, .where = node.path, .found = "a reference to the node \"" + reference->name + "\"",
                      .expected = "a node that stands before \"" + node.name + "\" in the same graph",
                      .hint = "nodes must be in topological order; capture the model again"});
  }
  if (const auto* list = std::get_if<RawList>(&argument.value)) {
    for (const RawArgument& item : *list) check_references(item, known, node, file);
  }
}

/// Names are unique, references point backwards (so there is no cycle), and the one output node comes last.
void check_graph(const RawGraph& raw, const std::string& file) {
  std::unordered_set<std::string_view> known;
  const auto fail = [&](const RawNode& node, std::string found, std::string expected) {
    throw InputError({.file = file, .where = node.path, .found = std::move(found), .expected = std::move(expected), .hint = ""});
  };
  for (std::size_t i = 0; i < raw.nodes.size(); ++i) {
    const RawNode& node = raw.nodes[i];
    const bool last = i + 1 == raw.nodes.size();
    if ((node.kind == RawKind::output) != last) fail(node, "\"" + node.name + "\"", "exactly one output node, at the end");
    for (const RawArgument& argument : node.args) check_references(argument, known, node, file);
    for (const auto& [key, argument] : node.kwargs) check_references(argument, known, node, file);
    if (!known.insert(node.name).second) fail(node, "a second node named \"" + node.name + "\"", "unique names in a graph");
  }
}

RawGraph parse_graph(const JsonValue& value, const std::string& file) {
  value.check_keys({"graph", "nodes", "primals"});
  RawGraph raw;
  raw.path = value.path();
  const JsonValue kind = value.at("graph");
  if (kind.text() != "forward" && kind.text() != "backward") kind.fail("\"forward\" or \"backward\"");
  raw.forward = kind.text() == "forward";
  const JsonValue nodes = value.at("nodes");
  for (std::size_t i = 0; i < nodes.list_size(); ++i) raw.nodes.push_back(parse_node(nodes.item(i), fmt::format("{}.nodes[{}]", raw.path, i)));
  if (raw.nodes.empty()) nodes.fail("at least an output node");
  if (const auto primals = value.find("primals")) {
    primals->check_object();
    for (const auto& [name, source] : primals->json().items()) raw.primals.emplace(name, primals->at(name).text());
  }
  check_graph(raw, file);
  return raw;
}

RawParameter parse_parameter(const JsonValue& value) {
  if (value.list_size() != 3) value.fail("[name, shape, element type]");
  RawParameter parameter;
  parameter.name = value.item(0).text();
  parameter.type = graph::contiguous(graph::shape_from_json(value.item(1)), graph::dtype_from_json(value.item(2)));
  return parameter;
}

}  // namespace

Document parse_document(std::string_view json, const std::string& file) {
  const nlohmann::json tree = parse_json(json, file);
  const JsonValue root(tree, file);
  root.check_keys({"model", "params", "graphs"});
  Document document;
  document.file = file;
  document.model = root.at("model").text();
  std::unordered_set<std::string> names;
  const JsonValue params = root.at("params");
  for (std::size_t i = 0; i < params.list_size(); ++i) {
    document.params.push_back(parse_parameter(params.item(i)));
    if (!names.insert(document.params.back().name).second) params.item(i).fail("parameter names that occur once");
  }
  const JsonValue graphs = root.at("graphs");
  for (std::size_t i = 0; i < graphs.list_size(); ++i) document.graphs.push_back(parse_graph(graphs.item(i), file));
  return document;
}

}  // namespace sgsim::import::aot
