#include "sim/lower/shard/overlap.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/graph/operators.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::CollectiveOp;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

class Order {
 public:
  explicit Order(const OperatorGraph& graph) : graph_(graph), readers_(graph.nodes.size()), rank_(graph.nodes.size()) {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      rank_[i] = static_cast<double>(i);
      graph::for_each_input(graph.nodes[i], [&](ValueRef v) { readers_[v.node.value].push_back(i); });
      if (is_backward_product(i) && graph.nodes[i].seq_nr) by_layer_[{graph.nodes[i].module, *graph.nodes[i].seq_nr}].push_back(i);
    }
  }

  OperatorGraph run() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto op = graph::collective_of(graph_.nodes[i].target);
      if (!op || graph_.nodes[i].phase != Phase::backward) continue;
      if (*op == CollectiveOp::all_reduce || *op == CollectiveOp::reduce_scatter) delay_behind(i);
    }
    return reordered();
  }

 private:
  [[nodiscard]] bool is_backward_product(std::uint32_t i) const {
    return graph_.nodes[i].kind == NodeKind::call && graph_.nodes[i].phase == Phase::backward && passage(graph_.nodes[i].target) == Passage::product;
  }

  /// Products whose results a collective sums, through sums, casts and views.
  [[nodiscard]] std::vector<std::uint32_t> summed_products(std::uint32_t collective) const {
    std::vector<std::uint32_t> open = {collective}, products;
    while (!open.empty()) {
      const std::uint32_t i = open.back();
      open.pop_back();
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
        const std::uint32_t source = v.node.value;
        const std::string_view name = operator_name(graph_.nodes[source].target);
        if (is_backward_product(source)) {
          products.push_back(source);
        } else if (graph_.nodes[source].phase == Phase::backward && (graph::is_view(graph_.nodes[source].target) || name == "add" || name == "_to_copy")) {
          open.push_back(source);
        }
      });
    }
    return products;
  }

  void delay_behind(std::uint32_t collective) {
    const std::vector<std::uint32_t> inputs = summed_products(collective);
    const std::set<std::uint32_t> summed(inputs.begin(), inputs.end());
    std::set<std::uint32_t> delayed;
    for (std::uint32_t product : inputs) {
      const Node& node = graph_.nodes[product];
      if (!node.seq_nr) continue;
      for (std::uint32_t sibling : by_layer_[{node.module, *node.seq_nr}]) {
        if (!summed.contains(sibling)) delay(sibling, delayed);
      }
    }
    if (delayed.empty() || delayed.contains(collective)) return;
    for (std::uint32_t i : delayed) rank_[i] = std::max(rank_[i], static_cast<double>(collective) + 0.5);
    hoist_gathers(delayed, *std::min_element(inputs.begin(), inputs.end()));
  }

  /// A weight gradient's product and what only leads from it to the gradient.
  void delay(std::uint32_t node, std::set<std::uint32_t>& delayed) const {
    if (!delayed.insert(node).second) return;
    for (std::uint32_t reader : readers_[node]) delay(reader, delayed);
  }

  /// Gathers that only the delayed products read, through views, start before the first product of the input gradient.
  void hoist_gathers(const std::set<std::uint32_t>& delayed, std::uint32_t first) {
    for (std::uint32_t product : delayed) {
      if (!is_backward_product(product)) continue;
      graph::for_each_input(graph_.nodes[product], [&](ValueRef v) {
        std::vector<std::uint32_t> path = {v.node.value};
        while (graph_.nodes[path.back()].kind == NodeKind::call && graph::is_view(graph_.nodes[path.back()].target)) {
          path.push_back(tensor_at(graph_.nodes[path.back()], 0)->node.value);
        }
        const Node& source = graph_.nodes[path.back()];
        if (source.phase != Phase::backward || graph::collective_of(source.target) != CollectiveOp::all_gather) return;
        // Its operand must be there: a value of the forward pass (or a view of one).
        std::vector<std::uint32_t> moved = {path.back()};
        for (ValueRef input = *tensor_at(source, 0);;) {
          const Node& maker = graph_.nodes[input.node.value];
          if (maker.phase == Phase::forward) break;
          if (!graph::is_view(maker.target)) return;
          moved.push_back(input.node.value);
          input = *tensor_at(maker, 0);
        }
        for (std::uint32_t i : moved) rank_[i] = std::min(rank_[i], static_cast<double>(first) - 0.5);
      });
    }
  }

  OperatorGraph reordered() const {
    std::vector<std::uint32_t> order(graph_.nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank_[a] < rank_[b]; });
    std::vector<std::uint32_t> new_id(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) new_id[order[i]] = i;
    OperatorGraph out = graph_;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      out.nodes[i] = graph_.nodes[order[i]];
      for (Argument& argument : out.nodes[i].args) renumber(argument, new_id);
      for (auto& [key, argument] : out.nodes[i].kwargs) renumber(argument, new_id);
    }
    for (ValueRef& v : out.outputs) v.node.value = new_id[v.node.value];
    out.gradients.clear();
    for (const auto& [parameter, v] : graph_.gradients) out.gradients[NodeId{new_id[parameter.value]}] = {NodeId{new_id[v.node.value]}, v.output};
    return out;
  }

  static void renumber(Argument& argument, const std::vector<std::uint32_t>& id) {
    if (auto* v = std::get_if<ValueRef>(&argument.value)) v->node.value = id[v->node.value];
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) renumber(item, id);
    }
  }

  const OperatorGraph& graph_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<double> rank_;  // place of each node in the new order
  std::map<std::pair<ModuleId, std::int64_t>, std::vector<std::uint32_t>> by_layer_;
};

}  // namespace

OperatorGraph overlap_weight_gradients(const OperatorGraph& graph) { return Order(graph).run(); }

}  // namespace sgsim::lower::shard
