#include "sim/lower/segment/cut.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

namespace sgsim::lower::segment {
namespace {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

constexpr std::uint32_t kUnplaced = std::numeric_limits<std::uint32_t>::max();

bool is_index(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Layer of each module (index of `names`, in order of first appearance in the table), or kUnplaced.
struct LayerTable {
  std::vector<std::uint32_t> of_module;
  std::vector<std::string> names;
};

LayerTable layer_table(const OperatorGraph& graph) {
  LayerTable table;
  std::map<std::string, std::uint32_t> known;
  for (const std::string& module : graph.modules) {
    std::string path = layer_path(module);
    if (path.empty()) {
      table.of_module.push_back(kUnplaced);
      continue;
    }
    const auto [entry, added] = known.try_emplace(std::move(path), static_cast<std::uint32_t>(table.names.size()));
    if (added) table.names.push_back(entry->first);
    table.of_module.push_back(entry->second);
  }
  return table;
}

class Cutter {
 public:
  explicit Cutter(const OperatorGraph& graph) : graph_(graph), table_(layer_table(graph)) {
    cut_.position.assign(graph.nodes.size(), kUnplaced);
  }

  Cut run() {
    order_layers();
    place_forward();
    place_backward();
    place_sources();
    if (!is_chain()) return one_position();
    return std::move(cut_);
  }

 private:
  [[nodiscard]] std::uint32_t layer_of(const Node& node) const {
    if (!node.module.valid()) return kUnplaced;
    const std::uint32_t layer = table_.of_module[node.module.value];
    return layer == kUnplaced ? kUnplaced : layer_position_[layer];
  }

  /// Numbers the layers by their first forward node: position 0 is "before".
  void order_layers() {
    layer_position_.assign(table_.names.size(), kUnplaced);
    cut_.names.emplace_back("before");
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || node.phase != Phase::forward || !node.module.valid()) continue;
      const std::uint32_t layer = table_.of_module[node.module.value];
      if (layer == kUnplaced) continue;
      last_layer_node_ = i;
      if (layer_position_[layer] != kUnplaced) continue;
      layer_position_[layer] = cut_.count();
      cut_.names.push_back(table_.names[layer]);
    }
    cut_.names.emplace_back("after");
  }

  void place_forward() {
    const std::uint32_t after = cut_.count() - 1;
    bool seen_layer = false;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || node.phase != Phase::forward) continue;
      std::uint32_t at = layer_of(node);
      if (at != kUnplaced) {
        seen_layer = true;
      } else if (!seen_layer) {
        at = after > 1 ? 0 : after;  // without layers all is "after"
      } else if (i > last_layer_node_) {
        at = after;
      } else {
        at = 0;
        graph::for_each_input(node, [&](ValueRef v) {
          if (cut_.position[v.node.value] != kUnplaced) at = std::max(at, cut_.position[v.node.value]);
        });
      }
      cut_.position[i] = at;
      if (node.seq_nr) by_sequence_[*node.seq_nr] = at;
    }
  }

  void place_backward() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || node.phase == Phase::forward) continue;
      std::uint32_t at = layer_of(node);
      if (at == kUnplaced && node.module.valid() && node.seq_nr) {
        const auto forward = by_sequence_.find(*node.seq_nr);
        if (forward != by_sequence_.end()) at = forward->second;
      }
      cut_.position[i] = at != kUnplaced ? at : by_operands(node);
    }
  }

  /// The earliest position among the gradients that a node reads; among its forward operands if it reads no gradient.
  [[nodiscard]] std::uint32_t by_operands(const Node& node) const {
    std::uint32_t gradients = kUnplaced, others = kUnplaced;
    graph::for_each_input(node, [&](ValueRef v) {
      const Node& source = graph_.nodes[v.node.value];
      const std::uint32_t at = cut_.position[v.node.value];
      if (source.kind != NodeKind::call || at == kUnplaced) return;
      std::uint32_t& least = source.phase == Phase::forward ? others : gradients;
      least = least == kUnplaced ? at : std::min(least, at);
    });
    if (gradients != kUnplaced) return gradients;
    return others != kUnplaced ? others : cut_.count() - 1;
  }

  void place_sources() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call) continue;
      graph::for_each_input(node, [&](ValueRef v) {
        std::uint32_t& at = cut_.position[v.node.value];
        if (at == kUnplaced) at = cut_.position[i];
      });
    }
    for (std::uint32_t& at : cut_.position) {
      if (at == kUnplaced) at = 0;
    }
  }

  [[nodiscard]] bool is_chain() const {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || node.phase != Phase::forward) continue;
      bool sound = true;
      graph::for_each_input(node, [&](ValueRef v) {
        if (graph_.nodes[v.node.value].kind == NodeKind::call) sound = sound && cut_.position[v.node.value] <= cut_.position[i];
      });
      if (!sound) return false;
    }
    return true;
  }

  [[nodiscard]] Cut one_position() const {
    Cut cut;
    cut.chain = false;
    cut.names = {"before", "model", "after"};
    cut.position.assign(graph_.nodes.size(), 1);
    return cut;
  }

  const OperatorGraph& graph_;
  LayerTable table_;
  std::vector<std::uint32_t> layer_position_;
  std::uint32_t last_layer_node_ = 0;
  std::unordered_map<std::int64_t, std::uint32_t> by_sequence_;
  Cut cut_;
};

}  // namespace

SegmentRole Cut::role(std::uint32_t at) const {
  if (at == 0) return SegmentRole::before;
  return at + 1 == count() ? SegmentRole::after : SegmentRole::layer;
}

std::string layer_path(const std::string& module) {
  std::size_t start = 0;
  while (start <= module.size()) {
    const std::size_t dot = std::min(module.find('.', start), module.size());
    if (start > 0 && is_index(std::string_view(module).substr(start, dot - start))) return module.substr(0, dot);
    start = dot + 1;
  }
  return {};
}

Cut cut(const OperatorGraph& graph) { return Cutter(graph).run(); }

}  // namespace sgsim::lower::segment
