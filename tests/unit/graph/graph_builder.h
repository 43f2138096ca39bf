#pragma once

#include <string>

#include "sim/graph/graph.h"
#include "sim/graph/operators.h"

namespace sgsim::graph::test {

/// Writes small graphs by hand.
struct GraphBuilder {
  OperatorGraph graph;

  ValueRef source(NodeKind kind, const std::string& name, TensorType type) {
    Node node;
    node.kind = kind;
    node.name = name;
    node.outputs = {std::move(type)};
    return append(std::move(node));
  }
  ValueRef input(TensorType type) { return source(NodeKind::input, "x" + std::to_string(graph.nodes.size()), std::move(type)); }

  Node node(const std::string& target, std::vector<Argument> args, std::map<std::string, Argument> kwargs = {}) const {
    Node call;
    call.name = "n" + std::to_string(graph.nodes.size());
    call.target = target;
    call.args = std::move(args);
    call.kwargs = std::move(kwargs);
    return call;
  }

  /// What infer says of a call, without adding it.
  std::optional<std::vector<TensorType>> inferred(const std::string& target, std::vector<Argument> args,
                                                  std::map<std::string, Argument> kwargs = {}) const {
    return infer(graph, node(target, std::move(args), std::move(kwargs)));
  }

  ValueRef call(const std::string& target, std::vector<Argument> args, std::map<std::string, Argument> kwargs = {}) {
    Node added = node(target, std::move(args), std::move(kwargs));
    added.outputs = infer(graph, added).value();
    return append(std::move(added));
  }

 private:
  ValueRef append(Node added) {
    graph.nodes.push_back(std::move(added));
    return {NodeId{static_cast<std::uint32_t>(graph.nodes.size() - 1)}, 0};
  }
};

inline Argument arg(ValueRef value) { return {value}; }
inline Argument arg(std::int64_t value) { return {value}; }
inline Argument arg(int value) { return {std::int64_t{value}}; }
inline Argument arg(double value) { return {value}; }
inline Argument arg(bool value) { return {value}; }
inline Argument none() { return {}; }
inline Argument sizes(std::initializer_list<std::int64_t> values) {
  ArgumentList list;
  for (const std::int64_t value : values) list.push_back({value});
  return {list};
}
inline Argument flags(std::initializer_list<bool> values) {
  ArgumentList list;
  for (const bool value : values) list.push_back({value});
  return {list};
}
inline Argument values(std::initializer_list<ValueRef> refs) {
  ArgumentList list;
  for (const ValueRef ref : refs) list.push_back({ref});
  return {list};
}
inline std::map<std::string, Argument> dtype_is(const std::string& name) { return {{"dtype", Argument{std::string("torch.") + name}}}; }

}  // namespace sgsim::graph::test
