#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/compile/autocast_lists.h"
#include "sim/compile/operator_effects.h"
#include "sim/compile/passes.h"
#include "sim/compile/pipeline.h"
#include "sim/compile/value_table.h"
#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile {

using graph::Argument;
using graph::ArgumentList;
using graph::DType;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::TensorType;
using graph::ValueRef;

namespace {

/// Rebuilds the graph node by node: operands of an operator on one of autocast's lists are cast where they are not of its
/// type already, and every result gets the type that its new operands give it.
class Autocast {
 public:
  Autocast(const OperatorGraph& source, DType lower) : source_(source), lower_(lower) {}

  OperatorGraph run() {
    result_.name = source_.name;
    result_.modules = source_.modules;
    result_.module_types = source_.module_types;
    result_.micro_batch = source_.micro_batch;
    result_.sequence = source_.sequence;
    for (std::uint32_t i = 0; i < source_.nodes.size(); ++i) add(NodeId{i});
    for (const ValueRef& v : source_.outputs) result_.outputs.push_back(moved(v));
    for (const auto& [parameter, gradient] : source_.gradients) {
      const NodeId id = new_id_[parameter.value];
      result_.gradients[id] = cast(moved(gradient), result_.node(id).outputs[0].dtype, result_.node(moved(gradient).node));
    }
    return remove_dead_nodes(std::move(result_));
  }

 private:
  [[nodiscard]] ValueRef moved(ValueRef v) const {
    const auto found = replaced_.find(v);
    return found != replaced_.end() ? found->second : ValueRef{new_id_[v.node.value], v.output};
  }

  void remap(Argument& argument) const {
    if (auto* ref = std::get_if<ValueRef>(&argument.value)) *ref = moved(*ref);
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) remap(item);
    }
  }

  void add(NodeId id) {
    Node node = source_.node(id);
    const std::vector<TensorType> before = node.outputs;
    for (Argument& argument : node.args) remap(argument);
    for (auto& [key, argument] : node.kwargs) remap(argument);
    const AutocastRule rule = node.kind == NodeKind::call ? autocast_rule(node.target) : AutocastRule::none;
    if (rule != AutocastRule::none) {
      const DType type = rule == AutocastRule::lower ? lower_ : DType::float32;
      for (Argument& argument : node.args) cast_operands(argument, type, node);
    }
    if (node.kind == NodeKind::call) retype(node);
    const bool restore = rule == AutocastRule::lower && node.phase == Phase::backward;
    if (rule == AutocastRule::lower && node.phase == Phase::forward && node.seq_nr)
      forward_.emplace(*node.seq_nr, NodeId{static_cast<std::uint32_t>(result_.nodes.size())});
    const ValueRef first{append(std::move(node)), 0};
    new_id_.push_back(first.node);
    if (restore) restore_gradients(id, first.node, before);
  }

  NodeId append(Node node) {
    result_.nodes.push_back(std::move(node));
    return NodeId{static_cast<std::uint32_t>(result_.nodes.size() - 1)};
  }

  void cast_operands(Argument& argument, DType type, const Node& user) {
    if (auto* ref = std::get_if<ValueRef>(&argument.value)) {
      if (graph::is_floating(result_.type(*ref).dtype)) *ref = cast_below_views(*ref, type, user);
    }
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) cast_operands(item, type, user);
    }
  }

  /// autocast casts what the Python function was given, before the views that aten makes of it (t of a weight): cast the
  /// viewed value and look at the cast instead.
  ValueRef cast_below_views(ValueRef v, DType type, const Node& user) {
    if (result_.type(v).dtype == type) return v;
    const Node& maker = result_.node(v.node);
    if (!is_view_node(maker)) return cast(v, type, user);
    const auto key = std::pair(v, type);
    if (const auto found = views_.find(key); found != views_.end() && reusable(v, user)) return found->second;
    Node copy = maker;
    const ValueRef source = cast_below_views(first_input(copy), type, user);
    copy.name += "_autocast" + std::to_string(result_.nodes.size());
    copy.args.at(0).value = source;
    for (TensorType& output : copy.outputs) output.dtype = type;
    const ValueRef view{append(std::move(copy)), v.output};
    views_[key] = view;
    return view;
  }

  /// A parameter is cast once a forward pass (autocast's weight cache); an activation each time it is used; the backward
  /// pass uses the casts that the forward pass saved.
  [[nodiscard]] bool reusable(ValueRef v, const Node& user) const {
    if (user.phase == Phase::backward) return true;
    while (is_view_node(result_.node(v.node))) v = first_input(result_.node(v.node));
    return result_.node(v.node).kind == NodeKind::parameter;
  }

  ValueRef cast(ValueRef v, DType type, const Node& user) {
    const TensorType from = result_.type(v);
    if (from.dtype == type) return v;
    const auto key = std::pair(v, type);
    if (const auto found = casts_.find(key); found != casts_.end() && reusable(v, user)) return found->second;
    Node node;
    node.name = result_.node(v.node).name + "_to_" + std::string(graph::to_text(type)) + std::to_string(result_.nodes.size());
    node.target = "aten._to_copy.default";
    node.args.emplace_back().value = v;
    node.kwargs["dtype"] = {std::string(graph::to_text(type))};
    node.outputs = {from};
    node.outputs[0].dtype = type;
    node.module = user.module;
    node.phase = user.phase;
    node.seq_nr = user.seq_nr;
    retype(node);
    const ValueRef made{append(std::move(node)), 0};
    casts_[key] = made;
    return made;
  }

  /// The result types that the new operands give. Operators that the shape table does not have keep their shapes and take
  /// the promoted type of their floating operands.
  void retype(Node& node) const {
    if (auto types = graph::infer(result_, node); types && types->size() >= node.outputs.size()) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!graph::is_absent(node.outputs[i])) node.outputs[i].dtype = (*types)[i].dtype;
      }
      return;
    }
    std::optional<DType> widest;
    graph::for_each_input(node, [&](ValueRef v) {
      const DType type = result_.type(v).dtype;
      if (graph::is_floating(type)) widest = widest ? graph::promote(*widest, type) : type;
    });
    for (TensorType& output : node.outputs) {
      if (widest && graph::is_floating(output.dtype)) output.dtype = *widest;
    }
  }

  /// The gradient of a cast casts back: a gradient in the lower type of a value that was cast for this operator's forward
  /// pass continues in the value's own type. The forward operator has the same sequence number.
  void restore_gradients(NodeId old_id, NodeId id, const std::vector<TensorType>& before) {
    for (std::uint32_t output = 0; output < before.size(); ++output) {
      const ValueRef v{id, output};
      if (graph::is_absent(result_.type(v)) || before[output].dtype == result_.type(v).dtype) continue;
      if (before[output].dtype != DType::float32 || kept_low(result_.node(id), result_.type(v).shape)) continue;
      replaced_[{old_id, output}] = cast(v, DType::float32, result_.node(id));
    }
  }

  /// True when the forward operand of that shape was in the lower type already, without a cast.
  [[nodiscard]] bool kept_low(const Node& gradient, const std::vector<std::int64_t>& shape) const {
    if (!gradient.seq_nr) return false;
    auto sorted = [](std::vector<std::int64_t> s) {
      std::sort(s.begin(), s.end());
      return s;
    };
    const auto found = forward_.find(*gradient.seq_nr);
    if (found == forward_.end()) return false;
    bool low = false;
    graph::for_each_input(result_.node(found->second), [&](ValueRef v) {
      if (sorted(result_.type(v).shape) != sorted(shape)) return;
      while (is_view_node(result_.node(v.node))) v = first_input(result_.node(v.node));
      low = low || !is_cast(result_.node(v.node));
    });
    return low;
  }

  [[nodiscard]] bool is_cast(const Node& node) const {
    return node.kind == NodeKind::call && base_name(node.target) == "_to_copy" &&
           result_.type(first_input(node)).dtype == DType::float32;
  }

  const OperatorGraph& source_;
  DType lower_;
  OperatorGraph result_;
  std::vector<NodeId> new_id_;               // by node of the source
  std::map<ValueRef, ValueRef> replaced_;    // values of the source that continue behind a cast
  std::map<std::pair<ValueRef, DType>, ValueRef> casts_, views_;
  std::map<std::int64_t, NodeId> forward_;   // forward operators that run in the lower type, by sequence number
};

/// Captured under autocast, or written in the lower type throughout: some matrix product has lower operands.
bool has_lower_products(const OperatorGraph& graph, DType lower) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.kind != NodeKind::call || autocast_rule(node.target) != AutocastRule::lower) return false;
    const ValueRef first = first_input(node);
    return first.node.valid() && graph.type(first).dtype == lower;
  });
}

}  // namespace

OperatorGraph autocast(const OperatorGraph& graph, DType dtype) {
  SGSIM_CHECK(dtype == DType::bfloat16 || dtype == DType::float16, "autocast to " + std::string(graph::to_text(dtype)));
  if (has_lower_products(graph, dtype)) return graph;
  return Autocast(graph, dtype).run();
}

}  // namespace sgsim::compile
