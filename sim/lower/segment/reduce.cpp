#include "sim/lower/segment/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/core/error.h"

namespace sgsim::lower::segment {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

constexpr std::uint32_t kDropped = std::numeric_limits<std::uint32_t>::max();

class Reducer {
 public:
  Reducer(const OperatorGraph& graph, const Cut& cut, const Layers& layers, const std::vector<Kept>& kept)
      : graph_(graph), cut_(cut), layers_(layers), kept_(kept), new_id_(graph.nodes.size(), kDropped) {}

  OperatorGraph run() {
    choose_nodes();
    OperatorGraph out;
    out.name = graph_.name;
    out.micro_batch = graph_.micro_batch;
    out.sequence = graph_.sequence;
    out.nodes.reserve(chosen_.size());
    for (std::uint32_t i : chosen_) out.nodes.push_back(copy(i));
    keep_used_modules(out);
    for (const ValueRef& v : graph_.outputs) {
      if (new_id_[v.node.value] != kDropped) out.outputs.push_back(moved(v));
    }
    for (const auto& [parameter, gradient] : graph_.gradients) {
      if (new_id_[parameter.value] == kDropped) continue;
      const ValueRef v = resolve_gradient(parameter, gradient);
      out.gradients.emplace(NodeId{new_id_[parameter.value]}, v);
    }
    return out;
  }

 private:
  void choose_nodes() {
    std::vector<bool> wanted(graph_.nodes.size(), false);
    owner_.assign(cut_.count(), kDropped);
    for (std::uint32_t k = 0; k < kept_.size(); ++k) {
      for (std::uint32_t at = kept_[k].first; at <= kept_[k].last; ++at) owner_[at] = k;
      for (std::uint32_t i : layers_.nodes[kept_[k].first]) wanted[i] = true;
      for (const ValueRef& v : layers_.external[kept_[k].first]) {
        if (graph_.nodes[v.node.value].kind != NodeKind::call) wanted[v.node.value] = true;
      }
    }
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      new_id_[i] = static_cast<std::uint32_t>(chosen_.size());
      chosen_.push_back(i);
    }
  }

  void keep_used_modules(OperatorGraph& out) const {
    std::vector<std::uint32_t> id(graph_.modules.size(), kDropped);
    for (Node& node : out.nodes) {
      if (!node.module.valid()) continue;
      std::uint32_t& fresh = id[node.module.value];
      if (fresh == kDropped) {
        fresh = static_cast<std::uint32_t>(out.modules.size());
        out.modules.push_back(graph_.modules[node.module.value]);
        out.module_types.push_back(graph_.module_types[node.module.value]);
      }
      node.module.value = fresh;
    }
  }

  [[nodiscard]] ValueRef moved(ValueRef v) const {
    SGSIM_CHECK(new_id_[v.node.value] != kDropped, "reference to dropped node " + graph_.nodes[v.node.value].name);
    return {NodeId{new_id_[v.node.value]}, v.output};
  }

  /// What a kept layer at position `at` reads in place of `v`: the same value, the value that its last original reads
  /// there (from later layers), each taken from the layer that stands for the one it comes from.
  [[nodiscard]] ValueRef resolve(ValueRef v, std::uint32_t at) const {
    const Node& source = graph_.nodes[v.node.value];
    if (source.kind != NodeKind::call) return moved(v);
    const Kept& kept = kept_[owner_[at]];
    if (cut_.position[v.node.value] > at && kept.last != kept.first) {
      const auto& first = layers_.external[kept.first];
      const auto slot = static_cast<std::size_t>(std::find(first.begin(), first.end(), v) - first.begin());
      SGSIM_CHECK(slot < first.size(), "no external value " + source.name);
      v = layers_.external[kept.last][slot];
    }
    return moved(counterpart(v));
  }

  /// The value of the kept layer that stands for the layer that makes `v`.
  [[nodiscard]] ValueRef counterpart(ValueRef v) const {
    const std::uint32_t from = cut_.position[v.node.value];
    const std::uint32_t stand_in = kept_[owner_[from]].first;
    if (stand_in == from) return v;
    const std::vector<std::uint32_t>& nodes = layers_.nodes[from];
    const auto place = std::lower_bound(nodes.begin(), nodes.end(), v.node.value) - nodes.begin();
    return {NodeId{layers_.nodes[stand_in][static_cast<std::size_t>(place)]}, v.output};
  }

  [[nodiscard]] ValueRef resolve_gradient(NodeId parameter, ValueRef gradient) const {
    if (new_id_[gradient.node.value] != kDropped) return moved(gradient);
    return resolve(gradient, kept_[owner_[cut_.position[parameter.value]]].first);
  }

  [[nodiscard]] Node copy(std::uint32_t i) const {
    Node node = graph_.nodes[i];
    if (node.kind != NodeKind::call) return node;
    const std::uint32_t at = cut_.position[i];
    for (Argument& argument : node.args) rewire(argument, at);
    for (auto& [key, argument] : node.kwargs) rewire(argument, at);
    return node;
  }

  void rewire(Argument& argument, std::uint32_t at) const {
    if (auto* v = std::get_if<ValueRef>(&argument.value)) *v = resolve(*v, at);
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) rewire(item, at);
    }
  }

  const OperatorGraph& graph_;
  const Cut& cut_;
  const Layers& layers_;
  const std::vector<Kept>& kept_;
  std::vector<std::uint32_t> new_id_;   // of each original node
  std::vector<std::uint32_t> owner_;    // of each position: index of the kept layer whose stretch holds it
  std::vector<std::uint32_t> chosen_;   // original nodes, in order
};

/// Which kept layer stands for each position: one of the same shape (and the same neighbours, if they matter).
std::vector<std::uint32_t> stand_ins(const Layers& layers, const std::vector<Kept>& kept, bool with_neighbours) {
  using Situation = std::array<std::uint32_t, 3>;
  const auto count = static_cast<std::uint32_t>(layers.shape.size());
  const auto situation = [&](std::uint32_t left, std::uint32_t at, std::uint32_t right) {
    const std::uint32_t shape = layers.shape[at];
    return with_neighbours ? Situation{layers.shape[left], shape, layers.shape[right]} : Situation{shape, shape, shape};
  };
  std::map<Situation, std::uint32_t> of_situation;
  for (std::uint32_t k = 1; k + 1 < kept.size(); ++k) {
    of_situation.try_emplace(situation(kept[k].first - 1, kept[k].first, kept[k].last + 1), k);
  }
  std::vector<std::uint32_t> result(count, 0);
  for (std::uint32_t at = 1; at + 1 < count; ++at) result[at] = of_situation.at(situation(at - 1, at, at + 1));
  result[count - 1] = static_cast<std::uint32_t>(kept.size() - 1);
  return result;
}

}  // namespace

Reduced reduce(const OperatorGraph& graph, const Cut& cut, const Layers& layers, const std::vector<Kept>& kept,
               bool with_neighbours) {
  Reduced reduced;
  reduced.graph = Reducer(graph, cut, layers, kept).run();
  reduced.stands_for = stand_ins(layers, kept, with_neighbours);
  reduced.times.assign(kept.size(), 0);
  for (std::uint32_t stand_in : reduced.stands_for) ++reduced.times[stand_in];
  return reduced;
}

}  // namespace sgsim::lower::segment
