#include "sim/import/torch_trace/join_pairs.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/aot/document.h"
#include "sim/import/aot/join.h"

namespace sgsim::import::torch_trace {
namespace {

using aot::RawArgument;
using aot::RawGraph;
using aot::RawNode;
using fx_text::Expression;
using fx_text::Statement;

constexpr std::int64_t kMostOutputs = 4096;

/// A printed graph in the terms of captured ones.
class RawBuilder {
 public:
  RawBuilder(const fx_text::Function& function, bool forward, std::string path, const std::string& file) : function_(function), file_(file) {
    raw_.forward = forward;
    raw_.path = std::move(path);
  }

  RawGraph build() {
    collect_items();
    for (const auto& [name, annotation] : function_.parameters) add_placeholder(name, annotation);
    for (const Statement& statement : function_.statements) add(statement);
    return std::move(raw_);
  }

 private:
  [[noreturn]] void fail(int line, std::string found, std::string expected) const {
    throw InputError({.file = file_, .where = fmt::format("{} line {}", raw_.path, line), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  }

  void collect_items() {
    for (const Statement& statement : function_.statements) {
      const auto* item = std::get_if<fx_text::Item>(&statement.expression.value);
      if (item == nullptr || item->index < 0 || item->index >= kMostOutputs) continue;
      if (auto type = fx_text::type_of_annotation(statement.annotation)) items_[item->name][item->index] = std::move(*type);
    }
  }

  RawNode& append(std::string name, aot::RawKind kind, int line) {
    RawNode& node = raw_.nodes.emplace_back();
    node.name = std::move(name);
    node.kind = kind;
    node.path = fmt::format("{} line {}", raw_.path, line);
    known_.insert(node.name);
    return node;
  }

  graph::TensorType type(const std::string& name, const std::string& annotation, int line) const {
    auto result = fx_text::type_of_annotation(annotation);
    if (!result) fail(line, "\"" + name + ": " + annotation + "\"", "a type with sizes in numbers, such as f32[8, 16]");
    return std::move(*result);
  }

  void add_placeholder(const std::string& name, const std::string& annotation) {
    append(name, aot::RawKind::placeholder, function_.line).outs = {type(name, annotation, function_.line)};
  }

  void add(const Statement& statement) {
    if (statement.name.empty()) {
      append("output", aot::RawKind::output, statement.line).args = {returned(statement.expression, statement.line)};
    } else if (const auto* item = std::get_if<fx_text::Item>(&statement.expression.value)) {
      RawNode& node = append(statement.name, aot::RawKind::call, statement.line);
      node.target = "<built-in function getitem>";
      node.args = {{aot::RawReference{item->name}}, {item->index}};
      node.outs = {fx_text::type_of_annotation(statement.annotation).value_or(graph::absent())};
    } else if (const auto* call = std::get_if<fx_text::Call>(&statement.expression.value)) {
      add_call(statement, *call);
    } else {
      fail(statement.line, "\"" + statement.name + "\"", "a call");
    }
  }

  void add_call(const Statement& statement, const fx_text::Call& call) {
    constexpr std::string_view kOps = "torch.ops.";
    if (!call.callee.starts_with(kOps)) fail(statement.line, call.callee + "(...)", "torch.ops.<library>.<operator>.<overload>(...)");
    RawNode node;
    node.target = call.callee.substr(kOps.size());
    for (const Expression& item : call.args) node.args.push_back(argument(item, statement.line));
    for (const auto& [key, item] : call.kwargs) node.kwargs.emplace(key, argument(item, statement.line));
    if (const auto found = items_.find(statement.name); found != items_.end()) {
      node.outs.assign(static_cast<std::size_t>(found->second.rbegin()->first) + 1, graph::absent());
      for (const auto& [index, item] : found->second) node.outs[static_cast<std::size_t>(index)] = item;
    } else {
      node.outs = {statement.annotation.empty() ? graph::absent() : type(statement.name, statement.annotation, statement.line)};
    }
    RawNode& placed = append(statement.name, aot::RawKind::call, statement.line);
    node.name = placed.name;
    node.path = placed.path;
    placed = std::move(node);
  }

  /// [a, b] or pytree.tree_unflatten([a, b], spec).
  RawArgument returned(const Expression& expression, int line) const {
    if (const auto* call = std::get_if<fx_text::Call>(&expression.value); call != nullptr && !call->args.empty()) return returned(call->args[0], line);
    RawArgument result = argument(expression, line);
    if (!std::holds_alternative<aot::RawList>(result.value)) result = {aot::RawList{result}};
    return result;
  }

  RawArgument argument(const Expression& expression, int line) const {
    return std::visit([&](const auto& content) -> RawArgument { return convert(content, line); }, expression.value);
  }
  RawArgument convert(const fx_text::None&, int) const { return {}; }
  RawArgument convert(const fx_text::Name& name, int line) const {
    if (name.name.find('.') != std::string::npos) return {name.name};
    if (!known_.contains(name.name)) fail(line, "the name \"" + name.name + "\"", "a value that was made before");
    return {aot::RawReference{name.name}};
  }
  RawArgument convert(const fx_text::Call& call, int line) const {
    if (call.callee != "device" && call.callee != "torch.device") fail(line, call.callee + "(...) as an argument", "a value");
    std::string text;
    for (const auto& [key, part] : call.kwargs) {
      if (const auto* word = std::get_if<std::string>(&part.value)) text = *word + text;
      if (const auto* index = std::get_if<std::int64_t>(&part.value)) text += fmt::format(":{}", *index);
    }
    return {text};
  }
  RawArgument convert(const fx_text::Item& item, int line) const { fail(line, item.name + "[...] inside a call", "a value with a name"); }
  RawArgument convert(const std::vector<Expression>& list, int line) const {
    aot::RawList items;
    for (const Expression& item : list) items.push_back(argument(item, line));
    return {std::move(items)};
  }
  RawArgument convert(bool plain, int) const { return {plain}; }
  RawArgument convert(std::int64_t plain, int) const { return {plain}; }
  RawArgument convert(double plain, int) const { return {plain}; }
  RawArgument convert(const std::string& plain, int) const { return {plain}; }

  const fx_text::Function& function_;
  const std::string& file_;
  RawGraph raw_;
  std::unordered_set<std::string> known_;
  std::unordered_map<std::string, std::map<std::int64_t, graph::TensorType>> items_;
};

/// Which forward placeholders get a gradient: the backward graph returns one value for each.
std::vector<bool> with_gradient(const RawGraph& forward, const RawGraph& backward) {
  std::vector<bool> result;
  const auto* list = backward.nodes.empty() || backward.nodes.back().args.empty() ? nullptr : std::get_if<aot::RawList>(&backward.nodes.back().args[0].value);
  std::size_t i = 0;
  for (const RawNode& node : forward.nodes) {
    if (node.kind != aot::RawKind::placeholder) break;
    result.push_back(list != nullptr && i < list->size() && std::holds_alternative<aot::RawReference>((*list)[i].value));
    ++i;
  }
  return result;
}

void name_placeholders(const Pair& pair, RawGraph& forward, const RawGraph& backward, aot::Document& document, std::set<std::string>& names) {
  const std::vector<bool> gradient = with_gradient(forward, backward);
  const bool known = pair.placeholders.size() == gradient.size();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const RawNode& node = forward.nodes[i];
    const bool parameter = known ? pair.placeholders[i].kind == graph::NodeKind::parameter : gradient[i];
    std::string name = known && parameter ? parameter_name(pair.placeholders[i].name) : known ? pair.placeholders[i].name : pair.name + node.name;
    if (!known && !parameter) continue;
    if (parameter && names.insert(name).second) document.params.push_back({.name = name, .type = graph::contiguous(node.outs[0].shape, node.outs[0].dtype)});
    forward.primals.emplace(node.name, std::move(name));
  }
}

}  // namespace

std::string parameter_name(std::string_view dynamo) {
  std::string text(dynamo);
  for (const std::string_view start : {"L_self_modules_", "L__self___", "L_self_", "l_self_modules_", "l_self_"}) {
    if (text.starts_with(start)) {
      text.erase(0, start.size());
      break;
    }
  }
  for (const std::string_view mark : {"_modules_", "_parameters_", "parameters_"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), at == 0 ? "" : ".");
  }
  while (text.size() > 1 && text.ends_with('_')) text.pop_back();
  return text;
}

graph::OperatorGraph join_pairs(const std::vector<Pair>& pairs, const std::string& file) {
  aot::Document document;
  document.file = file;
  document.model = file.substr(file.find_last_of('/') == std::string::npos ? 0 : file.find_last_of('/') + 1);
  std::set<std::string> names;
  for (const Pair& pair : pairs) {
    RawGraph forward = RawBuilder(pair.forward, true, pair.name + " forward", file).build();
    RawGraph backward = RawBuilder(pair.backward, false, pair.name + " backward", file).build();
    name_placeholders(pair, forward, backward, document, names);
    document.graphs.push_back(std::move(forward));
    document.graphs.push_back(std::move(backward));
  }
  return aot::join(document);
}

}  // namespace sgsim::import::torch_trace
