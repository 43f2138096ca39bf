#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/compile/passes.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile {

namespace {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

class Verifier {
 public:
  explicit Verifier(const OperatorGraph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    check_names();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) check_node(NodeId{i});
    for (const ValueRef& v : graph_.outputs) check_reference("graph output", v, graph_.nodes.size());
    check_gradients();
    return std::move(problems_);
  }

 private:
  void check_names() {
    std::unordered_set<std::string_view> names;
    names.reserve(graph_.nodes.size() * 2);
    for (const Node& node : graph_.nodes) {
      if (node.name.empty()) problem("a node has no name (target \"{}\")", node.target);
      if (!names.insert(node.name).second) problem("{}: the name stands for two nodes", node.name);
    }
    if (graph_.module_types.size() != graph_.modules.size())
      problem("{} modules but {} module types", graph_.modules.size(), graph_.module_types.size());
  }

  /// True when `v` names an output of a node that stands before position `limit`.
  bool check_reference(std::string_view reader, ValueRef v, std::size_t limit) {
    if (!v.node.valid() || v.node.value >= graph_.nodes.size()) {
      problem("{}: reads node {} of {} (dangling)", reader, v.node.value, graph_.nodes.size());
      return false;
    }
    if (v.node.value >= limit) {
      problem("{}: reads {}, which stands after it (not in topological order)", reader, graph_.node(v.node).name);
      return false;
    }
    if (v.output >= graph_.node(v.node).outputs.size()) {
      problem("{}: reads output {} of {}, which has {}", reader, v.output, graph_.node(v.node).name,
              graph_.node(v.node).outputs.size());
      return false;
    }
    return true;
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.module.valid() && node.module.value >= graph_.modules.size())
      problem("{}: module {} of {}", node.name, node.module.value, graph_.modules.size());
    if (node.kind != NodeKind::call) {
      if (node.outputs.size() != 1) problem("{}: a {} results, a parameter, buffer or input has one", node.name, node.outputs.size());
      return;
    }
    if (node.target.empty()) problem("{}: a call without a target", node.name);
    bool sound = true;
    graph::for_each_input(node, [&](ValueRef v) { sound = check_reference(node.name, v, id.value) && sound; });
    if (sound) check_types(node);
  }

  void check_types(const Node& node) {
    const auto expected = graph::infer(graph_, node);
    if (!expected) return;  // not in the table: nothing to compare with
    const std::size_t count = std::min(expected->size(), node.outputs.size());
    if (node.outputs.size() > expected->size())
      problem("{}: {} outputs where {} gives {}", node.name, node.outputs.size(), node.target, expected->size());
    for (std::size_t i = 0; i < count; ++i) {
      const graph::TensorType& has = node.outputs[i];
      const graph::TensorType& gives = (*expected)[i];
      if (graph::is_absent(has) || graph::is_absent(gives)) continue;  // a result that nobody asked for
      if (has.shape != gives.shape || has.dtype != gives.dtype)
        problem("{}: output {} where its operands give {}", node.name, text(has), text(gives));
    }
  }

  static std::string text(const graph::TensorType& type) {
    return graph::to_text(graph::TensorType{.shape = type.shape, .dtype = type.dtype, .stride = {}});
  }

  /// A graph without any gradient is a forward graph; in one with a gradient, a parameter without is frozen.
  void check_gradients() {
    for (const auto& [parameter, gradient] : graph_.gradients) {
      if (!parameter.valid() || parameter.value >= graph_.nodes.size() || graph_.node(parameter).kind != NodeKind::parameter) {
        problem("gradient {}: belongs to node {}, which is no parameter", gradient.node.value, parameter.value);
        continue;
      }
      const Node& node = graph_.node(parameter);
      if (!check_reference("gradient of " + node.name, gradient, graph_.nodes.size())) continue;
      if (graph_.type(gradient).shape != node.outputs.at(0).shape)
        problem("gradient of {}: {} where the parameter is {}", node.name, text(graph_.type(gradient)), text(node.outputs[0]));
      else if (graph_.type(gradient).dtype != node.outputs[0].dtype)
        problem("gradient of {}: type {} where the parameter is {}", node.name, graph::to_text(graph_.type(gradient).dtype),
                graph::to_text(node.outputs[0].dtype));
    }
  }

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const OperatorGraph& graph_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const OperatorGraph& graph) { return Verifier(graph).run(); }

}  // namespace sgsim::compile
