#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

struct HandOptions {
  std::map<std::string, sgsim::graph::Argument> kwargs = {};
  std::string module = "";
  std::string module_type = "";
  std::optional<std::int64_t> seq_nr = {};
};

/// Writes small operator graphs by hand; result types come from the shape table.
class HandGraph {
 public:
  using ValueRef = sgsim::graph::ValueRef;
  using Argument = sgsim::graph::Argument;
  using DType = sgsim::graph::DType;
  using Dims = std::vector<std::int64_t>;
  using Options = HandOptions;

  HandGraph() { graph.name = "hand"; }

  ValueRef source(sgsim::graph::NodeKind kind, std::string name, Dims shape, DType dtype = DType::float32) {
    sgsim::graph::Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.outputs = {sgsim::graph::contiguous(std::move(shape), dtype)};
    graph.nodes.push_back(std::move(node));
    return last();
  }
  ValueRef parameter(std::string name, Dims shape, DType dtype = DType::float32) {
    return source(sgsim::graph::NodeKind::parameter, std::move(name), std::move(shape), dtype);
  }
  ValueRef input(std::string name, Dims shape, DType dtype = DType::float32) {
    return source(sgsim::graph::NodeKind::input, std::move(name), std::move(shape), dtype);
  }

  /// A call with results from the shape table; `phase` as set.
  ValueRef call(std::string target, std::vector<Argument> args, Options options = {}) {
    sgsim::graph::Node node;
    node.name = target.substr(target.find('.') + 1) + "_" + std::to_string(graph.nodes.size());
    node.target = std::move(target);
    node.args = std::move(args);
    node.kwargs = std::move(options.kwargs);
    node.seq_nr = options.seq_nr;
    node.phase = phase;
    if (!options.module.empty()) node.module = module(options.module, options.module_type);
    const auto types = sgsim::graph::infer(graph, node);
    if (!types) throw std::logic_error("no shape rule for " + node.target);
    node.outputs = *types;
    graph.nodes.push_back(std::move(node));
    return last();
  }
  /// A call whose results the test names.
  ValueRef raw(std::string target, std::vector<Argument> args, std::vector<sgsim::graph::TensorType> outputs) {
    sgsim::graph::Node node;
    node.name = target.substr(target.find('.') + 1) + "_" + std::to_string(graph.nodes.size());
    node.target = std::move(target);
    node.args = std::move(args);
    node.outputs = std::move(outputs);
    node.phase = phase;
    graph.nodes.push_back(std::move(node));
    return last();
  }

  ValueRef cast(ValueRef v, DType dtype) {
    return call("aten._to_copy.default", {{v}}, {.kwargs = {{"dtype", {std::string(sgsim::graph::to_text(dtype))}}}});
  }
  /// The loss gradient that autograd starts with; everything after it is the backward pass.
  ValueRef backward_of(ValueRef loss) {
    phase = sgsim::graph::Phase::backward;
    return call("aten.ones_like.default", {{loss}});
  }

  static Argument list(std::initializer_list<std::int64_t> values) {
    sgsim::graph::ArgumentList items;
    for (const std::int64_t v : values) items.emplace_back().value = v;
    Argument argument;
    argument.value = std::move(items);
    return argument;
  }
  static Argument values(std::initializer_list<ValueRef> refs) {
    sgsim::graph::ArgumentList items;
    for (const ValueRef v : refs) items.emplace_back().value = v;
    Argument argument;
    argument.value = std::move(items);
    return argument;
  }

  [[nodiscard]] const std::string& name(ValueRef v) const { return graph.node(v.node).name; }

  sgsim::graph::OperatorGraph graph;
  sgsim::graph::Phase phase = sgsim::graph::Phase::forward;

 private:
  [[nodiscard]] ValueRef last() const { return {sgsim::NodeId{static_cast<std::uint32_t>(graph.nodes.size() - 1)}, 0}; }
  sgsim::ModuleId module(const std::string& path, const std::string& type) {
    for (std::uint32_t i = 0; i < graph.modules.size(); ++i) {
      if (graph.modules[i] == path) return sgsim::ModuleId{i};
    }
    graph.modules.push_back(path);
    graph.module_types.push_back(type);
    return sgsim::ModuleId{static_cast<std::uint32_t>(graph.modules.size() - 1)};
  }
};
