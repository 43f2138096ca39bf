#include "sim/import/aot/join.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/aot/modules.h"
#include "sim/import/aot/parameters.h"

namespace sgsim::import::aot {
namespace {

using graph::Argument;
using graph::Node;
using graph::NodeKind;
using graph::Phase;
using graph::ValueRef;
using Names = std::unordered_map<std::string, ValueRef>;

class Joiner {
 public:
  explicit Joiner(const Document& document)
      : document_(document), segments_(pair_segments(document)), primals_(identify_primals(document, segments_)) {
    std::vector<std::string> names;
    for (const RawParameter& parameter : document.params) names.push_back(dotted_path(parameter.name));
    wrapper_ = wrapper_of(names);
    names_.resize(segments_.size());
    gradient_of_output_.resize(segments_.size());
  }

  graph::OperatorGraph run() {
    graph_.name = document_.model;
    for (std::size_t s = 0; s < segments_.size(); ++s) add_sources(s);
    add_unread_parameters();
    for (std::size_t s = 0; s < segments_.size(); ++s) add_forward(s);
    find_loss();
    for (std::size_t s = segments_.size(); s-- > 0;) {
      if (segments_[s].backward != nullptr) add_backward(s);
    }
    collect_outputs();
    set_batch();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& where, std::string found, std::string expected, std::string hint = "") const {
    throw InputError({.file = document_.file, .where = where, .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
  }

  ValueRef append(Node node) {
    const std::string wanted = node.name;
    for (int copy = 1; !used_names_.insert(node.name).second; ++copy) node.name = fmt::format("{}.{}", wanted, copy);
    graph_.nodes.push_back(std::move(node));
    return {NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, 0};
  }

  /// Names of different regions may be equal; those of later regions get a prefix.
  static std::string name_in(std::size_t segment, const std::string& name) {
    return segment == 0 ? name : fmt::format("g{}.{}", segment, name);
  }

  ModuleId module_id(const std::string& path, const std::string& type) {
    const auto [found, added] = module_ids_.try_emplace(path, ModuleId{static_cast<std::uint32_t>(graph_.modules.size())});
    if (added) {
      graph_.modules.push_back(path);
      graph_.module_types.push_back(type);
    }
    return found->second;
  }

  void add_sources(std::size_t s) {
    for (std::size_t i = 0; i < primals_[s].size(); ++i) {
      const Primal& primal = primals_[s][i];
      const RawNode& raw = *segments_[s].primals[i];
      if (primal.kind == Primal::Kind::result) continue;
      if (primal.has_parameter) {
        const auto known = parameter_nodes_.find(primal.parameter);
        if (known != parameter_nodes_.end()) {
          if (primal.kind == Primal::Kind::parameter) graph_.nodes[known->second.node.value].kind = NodeKind::parameter;
          names_[s].emplace(raw.name, known->second);
          continue;
        }
      }
      Node node;
      node.kind = primal.kind == Primal::Kind::parameter ? NodeKind::parameter
                  : primal.kind == Primal::Kind::buffer  ? NodeKind::buffer
                                                         : NodeKind::input;
      node.name = primal.source.empty() ? name_in(s, raw.name) : primal.source;
      node.outputs = raw.outs;
      const ValueRef ref = append(std::move(node));
      names_[s].emplace(raw.name, ref);
      if (primal.has_parameter) parameter_nodes_.emplace(primal.parameter, ref);
    }
  }

  /// A parameter that no graph reads still takes memory.
  void add_unread_parameters() {
    for (std::size_t i = 0; i < document_.params.size(); ++i) {
      if (parameter_nodes_.contains(i)) continue;
      Node node;
      node.kind = NodeKind::buffer;
      node.name = without_wrapper(dotted_path(document_.params[i].name), wrapper_);
      node.outputs = {document_.params[i].type};
      append(std::move(node));
    }
  }

  ValueRef resolve(const std::string& name, const Names& names, const RawNode& reader) const {
    const auto found = names.find(name);
    if (found == names.end()) fail(reader.path, "a reference to \"" + name + "\"", "a value of this graph or saved by its forward graph");
    return found->second;
  }

  Argument convert(const RawArgument& raw, const Names& names, const RawNode& reader) const {
    if (const auto* reference = std::get_if<RawReference>(&raw.value)) return {resolve(reference->name, names, reader)};
    if (const auto* list = std::get_if<RawList>(&raw.value)) {
      graph::ArgumentList items;
      for (const RawArgument& item : *list) items.push_back(convert(item, names, reader));
      return {std::move(items)};
    }
    if (const auto* v = std::get_if<std::int64_t>(&raw.value)) return {*v};
    if (const auto* v = std::get_if<double>(&raw.value)) return {*v};
    if (const auto* v = std::get_if<bool>(&raw.value)) return {*v};
    if (const auto* v = std::get_if<std::string>(&raw.value)) return {*v};
    return {};
  }

  /// getitem is no node of ours: its name stands for one output of the node that it reads.
  void alias_item(const RawNode& raw, Names& names) const {
    const auto* source = raw.args.size() == 2 ? std::get_if<RawReference>(&raw.args[0].value) : nullptr;
    const auto* index = raw.args.size() == 2 ? std::get_if<std::int64_t>(&raw.args[1].value) : nullptr;
    if (source == nullptr || index == nullptr) fail(raw.path + ".args", "other arguments", "a node and an index for getitem");
    ValueRef ref = resolve(source->name, names, raw);
    const auto count = static_cast<std::int64_t>(graph_.nodes[ref.node.value].outputs.size());
    if (*index < 0 || *index >= count || ref.output != 0) {
      fail(raw.path + ".args[1]", fmt::format("index {}", *index), fmt::format("0 to {}", count - 1));
    }
    ref.output = static_cast<std::uint32_t>(*index);
    names.emplace(raw.name, ref);
  }

  void add_call(const RawNode& raw, std::size_t s, Phase phase, Names& names) {
    if (is_getitem(raw)) {
      alias_item(raw, names);
      return;
    }
    Node node;
    node.name = name_in(s, raw.name);
    node.target = raw.target;
    for (const RawArgument& argument : raw.args) node.args.push_back(convert(argument, names, raw));
    for (const auto& [key, argument] : raw.kwargs) node.kwargs.emplace(key, convert(argument, names, raw));
    node.outputs = raw.outs;
    node.phase = phase;
    node.seq_nr = raw.seq_nr;
    if (raw.has_module) node.module = module_id(without_wrapper(dotted_path(raw.module), wrapper_), raw.module_type);
    if (phase == Phase::backward && !node.module.valid()) node.module = backward_module(node);
    if (phase == Phase::forward && node.module.valid() && node.seq_nr) module_of_seq_.insert_or_assign(*node.seq_nr, node.module);
    names.emplace(raw.name, append(std::move(node)));
  }

  /// The sum of two gradients belongs to the module that the latest of them comes from; other backward nodes to the forward
  /// node of their sequence number.
  ModuleId backward_module(const Node& node) const {
    ModuleId latest;
    bool gradients_only = true;
    NodeId newest{0};
    graph::for_each_input(node, [&](ValueRef ref) {
      const Node& source = graph_.nodes[ref.node.value];
      gradients_only = gradients_only && source.phase == Phase::backward;
      if (ref.node >= newest && source.module.valid()) {
        newest = ref.node;
        latest = source.module;
      }
    });
    if (node.target.starts_with("aten.add.") && gradients_only) return latest;
    if (node.seq_nr) {
      const auto found = module_of_seq_.find(*node.seq_nr);
      if (found != module_of_seq_.end()) return found->second;
    }
    return latest;
  }

  void add_forward(std::size_t s) {
    for (std::size_t i = 0; i < primals_[s].size(); ++i) {
      const Primal& primal = primals_[s][i];
      if (primal.kind != Primal::Kind::result) continue;
      names_[s].emplace(segments_[s].primals[i]->name, user_output(primal.segment, primal.output));
      consumed_.insert({primal.segment, primal.output});
    }
    for (const RawNode& raw : segments_[s].forward->nodes) {
      if (raw.kind == RawKind::call) add_call(raw, s, Phase::forward, names_[s]);
    }
  }

  ValueRef user_output(std::size_t s, std::size_t output) const {
    const auto& reference = std::get<RawReference>(segments_[s].user_outputs[output]->value);
    return resolve(reference.name, names_[s], segments_[s].forward->nodes.back());
  }

  /// The loss: the first differentiated scalar that the last such region returns and no region reads.
  void find_loss() {
    for (std::size_t s = segments_.size(); s-- > 0;) {
      for (std::size_t output = 0; output < segments_[s].user_outputs.size(); ++output) {
        const auto tangent = segments_[s].tangent_of[output];
        if (!tangent || consumed_.contains({s, output}) || !segments_[s].tangents[*tangent]->outs[0].shape.empty()) continue;
        loss_ = user_output(s, output);
        loss_at_ = {s, output};
        return;
      }
    }
    fail("$.graphs", "no graph with a differentiated scalar result", "a captured loss and its backward graph",
         "capture a training step: forward, loss and backward");
  }

  /// What flows into a region's backward: the gradient that later regions computed, ones for the loss, zeros for a result
  /// that nothing differentiates (autograd makes them).
  ValueRef incoming_gradient(std::size_t s, std::size_t output, const RawNode& tangent) {
    const auto computed = gradient_of_output_[s].find(output);
    if (computed != gradient_of_output_[s].end()) return computed->second;
    const bool loss = std::pair(s, output) == loss_at_;
    Node node;
    node.name = name_in(s, tangent.name);
    node.target = loss ? "aten.ones_like.default" : "aten.zeros_like.default";
    node.args = {{user_output(s, output)}};
    node.outputs = tangent.outs;
    node.phase = Phase::backward;
    node.module = graph_.nodes[user_output(s, output).node.value].module;
    return append(std::move(node));
  }

  ValueRef sum_of(ValueRef a, ValueRef b) {
    Node node;
    node.name = "accumulate_gradient";
    node.target = "aten.add.Tensor";
    node.args = {{a}, {b}};
    node.outputs = {graph_.type(a)};
    node.phase = Phase::backward;
    node.module = graph_.nodes[b.node.value].module;
    return append(std::move(node));
  }

  template <class Map, class Key>
  void accumulate(Map& map, const Key& key, ValueRef gradient) {
    const auto [found, added] = map.try_emplace(key, gradient);
    if (added) return;
    const ValueRef sum = sum_of(found->second, gradient);
    map.insert_or_assign(key, sum);
  }

  void add_backward(std::size_t s) {
    const Segment& segment = segments_[s];
    Names names = names_[s];
    for (std::size_t output = 0; output < segment.user_outputs.size(); ++output) {
      if (!segment.tangent_of[output]) continue;
      const RawNode& tangent = *segment.tangents[*segment.tangent_of[output]];
      names.insert_or_assign(tangent.name, incoming_gradient(s, output, tangent));
    }
    for (const RawNode& raw : segment.backward->nodes) {
      if (raw.kind == RawKind::call) add_call(raw, s, Phase::backward, names);
    }
    for (std::size_t i = 0; i < segment.gradients.size(); ++i) {
      const auto* reference = std::get_if<RawReference>(&segment.gradients[i]->value);
      if (reference != nullptr) add_gradient(s, i, resolve(reference->name, names, segment.backward->nodes.back()));
    }
  }

  void add_gradient(std::size_t s, std::size_t i, ValueRef gradient) {
    const Primal& primal = primals_[s][i];
    if (primal.kind == Primal::Kind::result) {
      accumulate(gradient_of_output_[primal.segment], primal.output, gradient);
    } else if (primal.kind == Primal::Kind::parameter) {
      const ValueRef parameter = parameter_nodes_.at(primal.parameter);
      if (graph_.type(parameter).shape != graph_.type(gradient).shape) {
        fail(segments_[s].backward->nodes.back().path, "a gradient of another shape for " + graph_.node(parameter.node).name,
             graph::to_text(graph_.type(parameter)));
      }
      accumulate(graph_.gradients, parameter.node, gradient);
    }
  }

  void collect_outputs() {
    graph_.outputs.push_back(loss_);
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      for (std::size_t output = 0; output < segments_[s].user_outputs.size(); ++output) {
        const bool value = std::holds_alternative<RawReference>(segments_[s].user_outputs[output]->value);
        if (!value || consumed_.contains({s, output}) || std::pair(s, output) == loss_at_) continue;
        graph_.outputs.push_back(user_output(s, output));
      }
    }
  }

  /// Token ids [samples, tokens], or images [samples, channels, height, width].
  void set_batch() {
    for (const Node& node : graph_.nodes) {
      if (node.kind != NodeKind::input) continue;
      const graph::TensorType& type = node.outputs[0];
      if (!graph::is_floating(type.dtype) && type.shape.size() == 2) {
        graph_.micro_batch = type.shape[0];
        graph_.sequence = type.shape[1];
        return;
      }
      if (type.shape.size() >= 3) {
        graph_.micro_batch = type.shape[0];
        return;
      }
    }
  }

  const Document& document_;
  std::vector<Segment> segments_;
  std::vector<std::vector<Primal>> primals_;
  std::string wrapper_;
  graph::OperatorGraph graph_;
  std::vector<Names> names_;                                  // forward values by name, for each segment
  std::map<std::size_t, ValueRef> parameter_nodes_;           // by index in Document::params
  std::vector<std::map<std::size_t, ValueRef>> gradient_of_output_;  // by user output, for each segment
  std::set<std::pair<std::size_t, std::size_t>> consumed_;    // (segment, user output) that a later segment reads
  std::pair<std::size_t, std::size_t> loss_at_{0, 0};
  ValueRef loss_;
  std::unordered_map<std::string, ModuleId> module_ids_;
  std::unordered_map<std::int64_t, ModuleId> module_of_seq_;
  std::unordered_set<std::string> used_names_;
};

}  // namespace

graph::OperatorGraph join(const Document& document) { return Joiner(document).run(); }

}  // namespace sgsim::import::aot
