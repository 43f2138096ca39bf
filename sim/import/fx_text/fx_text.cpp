#include "sim/import/fx_text/fx_text.h"

#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/fx_text/python_text.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::fx_text {
namespace {

using graph::Argument;
using graph::Node;
using graph::NodeKind;
using graph::TensorType;
using graph::ValueRef;

constexpr std::size_t kLargest = std::size_t{1} << 30;
constexpr std::string_view kOps = "torch.ops.";
constexpr std::int64_t kMostOutputs = 4096;

class Builder {
 public:
  Builder(const Function& function, const std::string& file, graph::Phase phase, Diagnostics& report, const std::vector<Placeholder>* placeholders)
      : function_(function), file_(file), phase_(phase), report_(report), placeholders_(placeholders) {}

  graph::OperatorGraph run() {
    collect_items();
    if (placeholders_ != nullptr && placeholders_->size() != function_.parameters.size()) placeholders_ = nullptr;
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) add_placeholder(i);
    add_attributes();
    for (const Statement& statement : function_.statements) {
      if (statement.name.empty()) {
        collect_outputs(statement.expression);
      } else {
        add_statement(statement);
      }
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(int line, std::string found, std::string expected) const {
    throw InputError({.file = file_, .where = fmt::format("line {}", line), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  }

  /// Types of the results of operators with several, from the statements that take them out.
  void collect_items() {
    for (const Statement& statement : function_.statements) {
      const auto* item = std::get_if<Item>(&statement.expression.value);
      if (item == nullptr || item->index < 0 || item->index >= kMostOutputs) continue;
      if (auto type = type_of_annotation(statement.annotation)) items_[item->name][item->index] = std::move(*type);
    }
  }

  ValueRef append(Node node) {
    graph_.nodes.push_back(std::move(node));
    return {.node = NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, .output = 0};
  }

  void add_source(const std::string& name, std::string graph_name, const std::string& annotation, NodeKind kind, int line) {
    auto type = type_of_annotation(annotation);
    if (!type) fail(line, annotation.empty() ? "\"" + name + "\" without a type" : "\"" + name + ": " + annotation + "\"", "a type with sizes in numbers, such as f32[8, 16]");
    Node node;
    node.kind = kind;
    node.name = std::move(graph_name);
    node.outputs = {std::move(*type)};
    values_.insert_or_assign(name, append(std::move(node)));
  }

  void add_placeholder(std::size_t i) {
    const auto& [name, annotation] = function_.parameters[i];
    if (placeholders_ != nullptr) {
      add_source(name, (*placeholders_)[i].name.empty() ? name : (*placeholders_)[i].name, annotation, (*placeholders_)[i].kind, function_.line);
      report_.add("import.fx_text.placeholder", Severity::info, name);
    } else {
      add_source(name, name, annotation, NodeKind::input, function_.line);
      report_.add("import.fx_text.placeholder_as_input", Severity::warning, name + ": the text does not say which placeholders are parameters");
    }
  }

  /// self.name: tensors that the module holds. They stand before the calls.
  void add_attributes() {
    for (const Statement& statement : function_.statements) {
      const auto* name = std::get_if<Name>(&statement.expression.value);
      if (name == nullptr || !name->name.starts_with("self.")) continue;
      if (statement.annotation.empty()) {  // a graph that a higher-order operator runs
        modules_.emplace(statement.name, name->name.substr(5));
        continue;
      }
      add_source(statement.name, name->name.substr(5), statement.annotation, NodeKind::buffer, statement.line);
    }
  }

  ValueRef value(const std::string& name, int line) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(line, "the name \"" + name + "\"", "a value that was made before");
    return found->second;
  }

  void add_statement(const Statement& statement) {
    if (const auto* item = std::get_if<Item>(&statement.expression.value)) {
      take_item(statement, *item);
    } else if (const auto* name = std::get_if<Name>(&statement.expression.value)) {
      if (!name->name.starts_with("self.")) values_.insert_or_assign(statement.name, value(name->name, statement.line));
    } else if (const auto* call = std::get_if<Call>(&statement.expression.value)) {
      add_call(statement, *call);
    } else {
      fail(statement.line, "\"" + statement.name + "\"", "a call");
    }
  }

  void take_item(const Statement& statement, const Item& item) {
    ValueRef ref = value(item.name, statement.line);
    if (item.index < 0 || static_cast<std::size_t>(item.index) >= graph_.node(ref.node).outputs.size()) fail(statement.line, fmt::format("{}[{}]", item.name, item.index), "a result that the operator has");
    ref.output = static_cast<std::uint32_t>(item.index);
    values_.insert_or_assign(statement.name, ref);
  }

  Argument argument(const Expression& expression, int line) const {
    return std::visit([&](const auto& content) -> Argument { return convert(content, line); }, expression.value);
  }
  Argument convert(const None&, int) const { return {}; }
  Argument convert(const Name& name, int line) const {
    if (name.name.find('.') != std::string::npos) return {name.name};  // torch.float32, torch.strided
    if (const auto module = modules_.find(name.name); module != modules_.end()) return {module->second};
    return {value(name.name, line)};
  }
  /// device(type='cuda', index=0) -> "cuda:0"; other calls inside arguments are no values that FX prints.
  Argument convert(const Call& call, int line) const {
    if (call.callee != "device" && call.callee != "torch.device") fail(line, call.callee + "(...) as an argument", "a value");
    std::string text;
    for (const auto& [key, part] : call.kwargs) {
      if (const auto* type = std::get_if<std::string>(&part.value)) text = *type + text;
      if (const auto* index = std::get_if<std::int64_t>(&part.value)) text += fmt::format(":{}", *index);
    }
    return {text};
  }
  Argument convert(const Item& item, int line) const {
    ValueRef ref = value(item.name, line);
    if (item.index < 0 || static_cast<std::size_t>(item.index) >= graph_.node(ref.node).outputs.size()) fail(line, fmt::format("{}[{}]", item.name, item.index), "a result that the operator has");
    ref.output = static_cast<std::uint32_t>(item.index);
    return {ref};
  }
  Argument convert(const std::vector<Expression>& list, int line) const {
    graph::ArgumentList items;
    for (const Expression& item : list) items.push_back(argument(item, line));
    return {std::move(items)};
  }
  Argument convert(bool plain, int) const { return {plain}; }
  Argument convert(std::int64_t plain, int) const { return {plain}; }
  Argument convert(double plain, int) const { return {plain}; }
  Argument convert(const std::string& plain, int) const { return {plain}; }

  void add_call(const Statement& statement, const Call& call) {
    if (!call.callee.starts_with(kOps)) fail(statement.line, call.callee + "(...)", "torch.ops.<library>.<operator>.<overload>(...)");
    Node node;
    node.name = statement.name;
    node.target = call.callee.substr(kOps.size());
    node.phase = phase_;
    for (const Expression& item : call.args) node.args.push_back(argument(item, statement.line));
    for (const auto& [key, item] : call.kwargs) node.kwargs.emplace(key, argument(item, statement.line));
    set_outputs(statement, node);
    report_.add("import.fx_text.call", Severity::info, node.target);
    if (graph::classify(node.target) == graph::OperatorClass::unknown) report_.add("import.fx_text.unknown_operator", Severity::warning, node.target);
    values_.insert_or_assign(statement.name, append(std::move(node)));
  }

  void set_outputs(const Statement& statement, Node& node) {
    if (auto type = type_of_annotation(statement.annotation)) {
      node.outputs = {std::move(*type)};
      return;
    }
    const auto found = items_.find(statement.name);
    if (found != items_.end()) {
      node.outputs.assign(static_cast<std::size_t>(found->second.rbegin()->first) + 1, graph::absent());
      for (const auto& [index, type] : found->second) node.outputs[static_cast<std::size_t>(index)] = type;
      if (auto inferred = graph::infer(graph_, node); inferred && inferred->size() > node.outputs.size()) {
        node.outputs.insert(node.outputs.end(), inferred->begin() + static_cast<std::ptrdiff_t>(node.outputs.size()), inferred->end());
      }
      return;
    }
    if (auto inferred = graph::infer(graph_, node)) {
      node.outputs = std::move(*inferred);
      report_.add("import.fx_text.inferred_type", Severity::warning, statement.name);
      return;
    }
    if (statement.annotation.empty()) {  // asserts and the like give nothing
      node.outputs = {graph::absent()};
      report_.add("import.fx_text.no_result", Severity::warning, node.target);
      return;
    }
    fail(statement.line, "\"" + statement.name + ": " + statement.annotation + "\"", "a type with sizes in numbers, such as f32[8, 16]");
  }

  void collect_outputs(const Expression& expression) {
    if (const auto* name = std::get_if<Name>(&expression.value)) {
      const auto found = values_.find(name->name);
      if (found != values_.end()) graph_.outputs.push_back(found->second);
    } else if (const auto* list = std::get_if<std::vector<Expression>>(&expression.value)) {
      for (const Expression& item : *list) collect_outputs(item);
    } else if (const auto* call = std::get_if<Call>(&expression.value)) {  // pytree.tree_unflatten([...], spec)
      for (const Expression& item : call->args) collect_outputs(item);
    }
  }

  const Function& function_;
  const std::string& file_;
  graph::Phase phase_;
  Diagnostics& report_;
  const std::vector<Placeholder>* placeholders_;
  graph::OperatorGraph graph_;
  std::unordered_map<std::string, ValueRef> values_;
  std::unordered_map<std::string, std::string> modules_;  // names of graphs inside the module
  std::unordered_map<std::string, std::map<std::int64_t, TensorType>> items_;
};

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Imported read(const std::vector<std::string>& paths, const Progress&) {
  ImportedGraphs result;
  result.format = "fx_text";
  for (const std::string& path : paths) {
    const std::string name = base_name(path);
    const graph::Phase phase = name.find("ackward") != std::string::npos ? graph::Phase::backward : graph::Phase::forward;
    graph::OperatorGraph graph = parse(read_whole(path, "fx_text", result.report, kLargest), path, phase, result.report);
    graph.name = name;
    result.graphs.emplace_back(name, std::move(graph));
  }
  return result;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

graph::OperatorGraph parse(std::string_view text, const std::string& file, graph::Phase phase, Diagnostics& report, const std::vector<Placeholder>* placeholders) {
  const Function function = parse_forward(text, file);
  return Builder(function, file, phase, report, placeholders).run();
}

Format format() {
  return {.name = "fx_text",
          .description = "an FX graph printed as Python with type annotations (depyf, TORCH_LOGS=aot_graphs)",
          .confidence = [](const FileHead& head) { return has(head.bytes, "def forward(") && has(head.bytes, "torch.ops.") && !has(head.bytes.substr(0, 6), "V0") ? 60 : 0; },
          .read = read};
}

}  // namespace sgsim::import::fx_text
