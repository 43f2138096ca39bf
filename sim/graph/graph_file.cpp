#include "sim/graph/graph_file.h"

#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/text_file.h"
#include "sim/graph/tensor_json.h"

namespace sgsim::graph {
namespace {

using nlohmann::json;
constexpr std::string_view kFormat = "sgsim.graph";
constexpr std::array<std::string_view, 4> kKinds = {"parameter", "buffer", "input", "call"};
constexpr std::array<std::string_view, 3> kPhases = {"forward", "backward", "optimizer"};

json reference(const OperatorGraph& graph, ValueRef value) {
  json ref = {{"node", graph.node(value.node).name}};
  if (value.output > 0) ref["output"] = value.output;
  return ref;
}

json argument_to_json(const OperatorGraph& graph, const Argument& argument) {
  return std::visit(
      [&](const auto& value) -> json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, ValueRef>) {
          return reference(graph, value);
        } else if constexpr (std::is_same_v<T, double>) {
          return number_to_json(value);
        } else if constexpr (std::is_same_v<T, ArgumentList>) {
          json list = json::array();
          for (const Argument& item : value) list.push_back(argument_to_json(graph, item));
          return list;
        } else {
          return value;
        }
      },
      argument.value);
}

json node_to_json(const OperatorGraph& graph, const Node& node) {
  json out = {{"name", node.name}, {"outputs", json::array()}};
  for (const TensorType& type : node.outputs) out["outputs"].push_back(is_absent(type) ? json(nullptr) : tensor_to_json(type));
  if (node.kind != NodeKind::call) {
    out["kind"] = kKinds[static_cast<std::size_t>(node.kind)];
    return out;
  }
  out["target"] = node.target;
  out["args"] = json::array();
  for (const Argument& argument : node.args) out["args"].push_back(argument_to_json(graph, argument));
  for (const auto& [key, argument] : node.kwargs) out["kwargs"][key] = argument_to_json(graph, argument);
  if (node.module.valid()) out["module"] = node.module.value;
  if (node.phase != Phase::forward) out["phase"] = kPhases[static_cast<std::size_t>(node.phase)];
  if (node.seq_nr) out["seq_nr"] = *node.seq_nr;
  return out;
}

template <std::size_t N>
std::size_t position(const std::array<std::string_view, N>& names, const JsonValue& value) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == value.text()) return i;
  }
  value.fail(fmt::format("one of {}", fmt::join(names, ", ")));
}

class Parser {
 public:
  Parser(const JsonValue& root) : root_(root) {}

  OperatorGraph run() {
    root_.check_keys({"format", "version", "name", "micro_batch_samples", "sequence_tokens", "modules", "nodes", "outputs", "gradients"});
    if (root_.at("format").text() != kFormat) root_.at("format").fail(fmt::format("\"{}\"", kFormat));
    const JsonValue version = root_.at("version");
    if (version.integer() != kGraphFileVersion) version.fail(fmt::format("{}", kGraphFileVersion), "this program reads that version only");
    graph_.name = root_.at("name").text();
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    graph_.micro_batch = root_.at("micro_batch_samples").integer_between(1, kMost);
    graph_.sequence = root_.at("sequence_tokens").integer_between(0, kMost);
    const JsonValue modules = root_.at("modules");
    for (std::size_t i = 0; i < modules.list_size(); ++i) add_module(modules.item(i));
    const JsonValue nodes = root_.at("nodes");
    for (std::size_t i = 0; i < nodes.list_size(); ++i) add_node(nodes.item(i));
    const JsonValue outputs = root_.at("outputs");
    for (std::size_t i = 0; i < outputs.list_size(); ++i) graph_.outputs.push_back(parse_reference(outputs.item(i)));
    const JsonValue gradients = root_.at("gradients");
    gradients.check_object();
    for (const auto& [parameter, value] : gradients.json().items()) add_gradient(parameter, gradients.at(parameter));
    return std::move(graph_);
  }

 private:
  void add_module(const JsonValue& value) {
    if (value.list_size() != 2) value.fail("[path, class]");
    graph_.modules.push_back(value.item(0).text());
    graph_.module_types.push_back(value.item(1).text());
  }

  ValueRef parse_reference(const JsonValue& value) const {
    value.check_keys({"node", "output"});
    const auto found = names_.find(value.at("node").text());
    if (found == names_.end()) value.fail("a node that stands before", "nodes must be in topological order");
    const auto count = static_cast<std::int64_t>(graph_.node(found->second).outputs.size());
    const auto output = value.find("output");
    if (count == 0) value.fail("a node with a result");
    return {found->second, output ? static_cast<std::uint32_t>(output->integer_between(0, count - 1)) : 0U};
  }

  Argument parse_argument(const JsonValue& value, int depth) const {
    const json& item = value.json();
    if (item.is_null()) return {};
    if (item.is_boolean()) return {value.flag()};
    if (item.is_number_integer()) return {value.integer()};
    if (item.is_number()) return {value.number()};
    if (item.is_object()) return {parse_reference(value)};
    if (item.is_string()) {
      if (const auto number = number_from_name(value.text())) return {*number};
      return {value.text()};
    }
    if (depth >= kDeepestList) value.fail(fmt::format("at most {} lists inside each other", kDeepestList));
    ArgumentList list;
    for (std::size_t i = 0; i < value.list_size(); ++i) list.push_back(parse_argument(value.item(i), depth + 1));
    return {std::move(list)};
  }

  void add_call(const JsonValue& value, Node& node) const {
    node.target = value.at("target").text();
    const JsonValue args = value.at("args");
    for (std::size_t i = 0; i < args.list_size(); ++i) node.args.push_back(parse_argument(args.item(i), 0));
    if (const auto kwargs = value.find("kwargs")) {
      kwargs->check_object();
      for (const auto& [key, item] : kwargs->json().items()) node.kwargs.emplace(key, parse_argument(kwargs->at(key), 0));
    }
    if (const auto module = value.find("module")) {
      const auto count = static_cast<std::int64_t>(graph_.modules.size());
      if (count == 0) module->fail("no module: \"modules\" is empty");
      node.module = ModuleId{static_cast<std::uint32_t>(module->integer_between(0, count - 1))};
    }
    if (const auto phase = value.find("phase")) node.phase = static_cast<Phase>(position(kPhases, *phase));
    if (const auto seq_nr = value.find("seq_nr")) node.seq_nr = seq_nr->integer();
  }

  void add_node(const JsonValue& value) {
    value.check_keys({"kind", "name", "target", "args", "kwargs", "outputs", "module", "phase", "seq_nr"});
    Node node;
    node.name = value.at("name").text();
    const auto kind = value.find("kind");
    node.kind = kind ? static_cast<NodeKind>(position(kKinds, *kind)) : NodeKind::call;
    const JsonValue outputs = value.at("outputs");
    for (std::size_t i = 0; i < outputs.list_size(); ++i) {
      const JsonValue item = outputs.item(i);
      node.outputs.push_back(item.is_null() ? absent() : tensor_from_json(item));
    }
    if (node.kind == NodeKind::call) {
      add_call(value, node);
    } else {
      value.check_keys({"kind", "name", "outputs"});
      if (node.outputs.size() != 1) outputs.fail("one tensor");
    }
    const auto id = NodeId{static_cast<std::uint32_t>(graph_.nodes.size())};
    if (!names_.emplace(node.name, id).second) value.at("name").fail("a name that occurs once");
    graph_.nodes.push_back(std::move(node));
  }

  void add_gradient(const std::string& parameter, const JsonValue& value) {
    const auto found = names_.find(parameter);
    if (found == names_.end() || graph_.node(found->second).kind != NodeKind::parameter) value.fail("the name of a parameter as key");
    const ValueRef gradient = parse_reference(value);
    if (graph_.type(gradient).shape != graph_.node(found->second).outputs[0].shape) value.fail("a gradient of the parameter's shape");
    graph_.gradients.emplace(found->second, gradient);
  }

  const JsonValue& root_;
  OperatorGraph graph_;
  std::unordered_map<std::string, NodeId> names_;
};

std::string argument_to_text(const OperatorGraph& graph, const Argument& argument) {
  if (const auto* ref = std::get_if<ValueRef>(&argument.value)) {
    const std::string& name = graph.node(ref->node).name;
    return ref->output == 0 ? name : fmt::format("{}[{}]", name, ref->output);
  }
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    std::vector<std::string> items;
    for (const Argument& item : *list) items.push_back(argument_to_text(graph, item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (const auto* text = std::get_if<std::string>(&argument.value)) return *text;
  if (std::holds_alternative<std::monostate>(argument.value)) return "None";
  return argument_to_json(graph, argument).dump();
}

std::string node_to_text(const OperatorGraph& graph, const Node& node) {
  std::vector<std::string> types, args;
  for (const TensorType& type : node.outputs) types.push_back(to_text(type));
  const std::string type = types.size() == 1 ? types[0] : fmt::format("({})", fmt::join(types, ", "));
  if (node.kind != NodeKind::call) return fmt::format("{} {}: {}", kKinds[static_cast<std::size_t>(node.kind)], node.name, type);
  for (const Argument& argument : node.args) args.push_back(argument_to_text(graph, argument));
  for (const auto& [key, argument] : node.kwargs) args.push_back(fmt::format("{}={}", key, argument_to_text(graph, argument)));
  std::string line = fmt::format("{} = {}({}) -> {}", node.name, node.target, fmt::join(args, ", "), type);
  if (node.module.valid() || node.phase != Phase::forward) line += "  #";
  if (node.module.valid() && !graph.modules[node.module.value].empty()) line += ' ' + graph.modules[node.module.value];
  if (node.phase != Phase::forward) line += fmt::format(" {}", kPhases[static_cast<std::size_t>(node.phase)]);
  return line;
}

}  // namespace

std::string graph_to_json(const OperatorGraph& graph) {
  json root = {{"format", kFormat},
               {"version", kGraphFileVersion},
               {"name", graph.name},
               {"micro_batch_samples", graph.micro_batch},
               {"sequence_tokens", graph.sequence},
               {"modules", json::array()},
               {"nodes", json::array()},
               {"outputs", json::array()},
               {"gradients", json::object()}};
  for (std::size_t i = 0; i < graph.modules.size(); ++i) root["modules"].push_back({graph.modules[i], graph.module_types[i]});
  for (const Node& node : graph.nodes) root["nodes"].push_back(node_to_json(graph, node));
  for (const ValueRef output : graph.outputs) root["outputs"].push_back(reference(graph, output));
  for (const auto& [parameter, gradient] : graph.gradients) {
    root["gradients"][graph.node(parameter).name] = reference(graph, gradient);
  }
  return root.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

void write_graph(const OperatorGraph& graph, const std::string& path) { write_text_file(path, graph_to_json(graph)); }

OperatorGraph read_graph(const std::string& path) { return parse_graph(read_text_file(path), path); }

OperatorGraph parse_graph(std::string_view text, const std::string& file) {
  const json tree = parse_json(text, file);
  const JsonValue root(tree, file);
  return Parser(root).run();
}

std::string to_text(const OperatorGraph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += node_to_text(graph, node) + '\n';
  for (const ValueRef output : graph.outputs) text += fmt::format("return {}\n", argument_to_text(graph, {output}));
  for (const auto& [parameter, gradient] : graph.gradients) {
    text += fmt::format("gradient {} = {}\n", graph.node(parameter).name, argument_to_text(graph, {gradient}));
  }
  return text;
}

}  // namespace sgsim::graph
