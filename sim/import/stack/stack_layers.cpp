#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/import/stack/region.h"

namespace sgsim::import {
namespace {

using graph::Argument;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;
using stack::Region;

constexpr int kMostLayers = 10000;

class Stacker {
 public:
  Stacker(const OperatorGraph& captured, Region region, int copies)
      : old_(captured), region_(std::move(region)), copies_(copies), new_id_(static_cast<std::size_t>(copies) + 1, std::vector<NodeId>(captured.nodes.size())) {
    layer_ = fmt::format("{}.{}", region_.container, region_.index);
    for (const Node& node : old_.nodes) {
      if (node.seq_nr) last_seq_ = std::max(last_seq_, *node.seq_nr);
    }
    out_.name = old_.name;
    out_.modules = old_.modules;
    out_.module_types = old_.module_types;
    out_.micro_batch = old_.micro_batch;
    out_.sequence = old_.sequence;
  }

  OperatorGraph run() {
    std::size_t last_source = 0, last_forward = 0;
    for (std::size_t i = 0; i < old_.nodes.size(); ++i) {
      if (!region_.inside[i]) continue;
      if (old_.nodes[i].kind != NodeKind::call) last_source = i;
      if (old_.nodes[i].kind == NodeKind::call && old_.nodes[i].phase == Phase::forward) last_forward = i;
    }
    for (std::size_t i = 0; i < old_.nodes.size(); ++i) {
      emit(i, 0);
      if (i == last_source) emit_copies([](const Node& node) { return node.kind != NodeKind::call; }, false);
      if (i == last_forward) emit_copies([](const Node& node) { return node.kind == NodeKind::call && node.phase == Phase::forward; }, false);
      if (i == region_.output_gradient.node.value) emit_copies([](const Node& node) { return node.phase == Phase::backward; }, true);
    }
    for (const ValueRef output : old_.outputs) out_.outputs.push_back(seen_outside(output));
    for (const auto& [parameter, gradient] : old_.gradients) add_gradient(parameter, gradient);
    return std::move(out_);
  }

 private:
  template <class Select>
  void emit_copies(Select&& select, bool last_first) {
    for (int n = 1; n <= copies_; ++n) {
      const int copy = last_first ? copies_ + 1 - n : n;
      for (std::size_t i = 0; i < old_.nodes.size(); ++i) {
        if (region_.inside[i] && select(old_.nodes[i])) emit(i, copy);
      }
    }
  }

  void add_gradient(NodeId parameter, ValueRef gradient) {
    if (!region_.inside[parameter.value]) {
      out_.gradients.emplace(id(parameter, 0), seen_outside(gradient));
      return;
    }
    for (int copy = 0; copy <= copies_; ++copy) out_.gradients.emplace(id(parameter, copy), seen_by(gradient, copy));
  }

  NodeId id(NodeId old, int copy) const {
    const NodeId found = new_id_[static_cast<std::size_t>(copy)][old.value];
    SGSIM_CHECK(found.valid(), "node " + old_.node(old).name + " is read before its copy stands");
    return found;
  }
  ValueRef in_copy(ValueRef value, int copy) const { return {id(value.node, copy), value.output}; }

  /// What a node outside the layer reads: the chain's ends instead of the one layer's.
  ValueRef seen_outside(ValueRef value) const {
    if (value == region_.output) return in_copy(value, copies_);
    return in_copy(value, 0);  // the gradient of the chain's input is the first layer's
  }

  /// What a node of the layer's k-th copy (0: the layer itself) reads.
  ValueRef seen_by(ValueRef value, int copy) const {
    if (region_.inside[value.node.value]) return in_copy(value, copy);
    if (value == region_.input && copy > 0) return in_copy(region_.output, copy - 1);
    if (value == region_.output_gradient && copy < copies_) return in_copy(region_.input_gradient, copy + 1);
    return in_copy(value, 0);
  }

  Argument rewired(const Argument& argument, std::size_t node, int copy) const {
    if (const auto* ref = std::get_if<ValueRef>(&argument.value)) {
      return {region_.inside[node] ? seen_by(*ref, copy) : seen_outside(*ref)};
    }
    if (const auto* list = std::get_if<graph::ArgumentList>(&argument.value)) {
      graph::ArgumentList items;
      for (const Argument& item : *list) items.push_back(rewired(item, node, copy));
      return {std::move(items)};
    }
    return argument;
  }

  std::string renamed(const std::string& path, int copy) const {
    return fmt::format("{}.{}{}", region_.container, region_.index + copy, path.substr(layer_.size()));
  }

  ModuleId module_of(ModuleId old, int copy) {
    if (copy == 0 || !old.valid()) return old;
    const auto [found, added] = modules_.try_emplace({old.value, copy}, ModuleId{static_cast<std::uint32_t>(out_.modules.size())});
    if (added) {
      out_.modules.push_back(renamed(old_.modules[old.value], copy));
      out_.module_types.push_back(old_.module_types[old.value]);
    }
    return found->second;
  }

  void emit(std::size_t i, int copy) {
    const Node& old = old_.nodes[i];
    Node node = old;
    for (Argument& argument : node.args) argument = rewired(argument, i, copy);
    for (auto& [key, argument] : node.kwargs) argument = rewired(argument, i, copy);
    if (copy > 0) {
      const bool source = old.kind != NodeKind::call;
      node.name = source ? renamed(old.name, copy) : fmt::format("{}.layer{}", old.name, region_.index + copy);
      node.module = module_of(old.module, copy);
      if (old.seq_nr) node.seq_nr = *old.seq_nr + copy * (last_seq_ + 1);  // pairs of forward and backward stay pairs
    }
    new_id_[static_cast<std::size_t>(copy)][i] = NodeId{static_cast<std::uint32_t>(out_.nodes.size())};
    out_.nodes.push_back(std::move(node));
  }

  const OperatorGraph& old_;
  Region region_;
  int copies_;
  std::vector<std::vector<NodeId>> new_id_;  // by copy (0: the layer itself and all else) and old node
  std::string layer_;
  std::int64_t last_seq_ = 0;
  std::map<std::pair<std::uint32_t, int>, ModuleId> modules_;
  OperatorGraph out_;
};

}  // namespace

graph::OperatorGraph stack_layers(const graph::OperatorGraph& captured, int layers) {
  Region region = stack::find_last_layer(captured);
  const std::int64_t present = region.index + 1;
  if (layers < present || layers > kMostLayers) {
    throw InputError({.file = captured.name, .where = "layers", .found = fmt::format("{} layers", layers),
                      .expected = fmt::format("{} (as captured) to {}", present, kMostLayers),
                      .hint = "layers can be added to a captured graph, not taken away"});
  }
  const int copies = layers - static_cast<int>(present);
  if (copies == 0) return captured;
  return Stacker(captured, std::move(region), copies).run();
}

}  // namespace sgsim::import
