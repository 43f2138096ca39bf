#include "sim/lower/shard/propagate.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/lower/segment/storage.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

class Walk {
 public:
  Walk(const OperatorGraph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh), plan_{Choices{Weights(graph), {}, {}, false, {}, {}}, {}, {}, {}, {}} {
    std::uint32_t values = 0;
    for (const Node& node : graph.nodes) {
      plan_.first.push_back(values);
      values += static_cast<std::uint32_t>(node.outputs.size());
    }
    plan_.placements.resize(values);
    plan_.transfers.resize(graph.nodes.size());
    plan_.choices.trained = segment::depends_on_parameters(graph);
    plan_.choices.readers.assign(graph.nodes.size(), 0);
    for (const Node& node : graph.nodes) graph::for_each_input(node, [&](ValueRef v) { ++plan_.choices.readers[v.node.value]; });
  }

  Plan run() {
    while (const auto stopped = walk()) keep_sources_whole(*stopped);
    return std::move(plan_);
  }

 private:
  /// One walk; the node whose operands cannot be had as they come.
  std::optional<NodeId> walk() {
    plan_.choices.weights.forget_decisions();
    plan_.choices.columns.clear();
    plan_.choices.parallel_lookup = false;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || plan_.choices.weights.parameter({NodeId{i}, 0})) continue;
      auto result = transfer(graph_, NodeId{i}, operands(node), mesh_, plan_.choices);
      if (!result) return NodeId{i};
      std::copy(result->results.begin(), result->results.end(), plan_.placements.begin() + plan_.first[i]);
      plan_.transfers[i] = std::move(*result);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<Operand> operands(const Node& node) const {
    std::vector<Operand> result;
    for (std::size_t position = 0; position < node.args.size(); ++position) {
      graph::for_each_input(node.args[position], [&](ValueRef v) { result.push_back({v, position, plan_.of(v)}); });
    }
    for (const auto& [key, argument] : node.kwargs) {
      graph::for_each_input(argument, [&](ValueRef v) { result.push_back({v, node.args.size(), plan_.of(v)}); });
    }
    return result;
  }

  /// Keeps whole every column-parallel product whose columns reach the node that stopped the walk.
  void keep_sources_whole(NodeId stopped) {
    std::vector<NodeId> open = {stopped};
    std::set<NodeId> seen = {stopped};
    bool any = false;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id != stopped && plan_.choices.columns.contains(id)) {
        plan_.choices.kept_whole.insert(id);
        plan_.kept_whole.push_back(graph_.node(id).name + " (" + module_of(id) + "): " + graph_.node(stopped).target + " in " +
                                   module_of(stopped) + " needs its result whole");
        any = true;
        continue;
      }
      graph::for_each_input(graph_.node(id), [&](ValueRef v) {
        if (graph_.node(v.node).kind == NodeKind::call && plan_.of(v).features() && seen.insert(v.node).second) open.push_back(v.node);
      });
    }
    if (!any) fail(stopped);
  }

  [[noreturn]] void fail(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string found = node.target;
    for (const Operand& operand : operands(node)) found += ", " + graph_.node(operand.value.node).name + " " + to_text(operand.have);
    throw InputError({.file = graph_.name, .where = node.name, .found = found,
                      .expected = "an operator that tensor parallelism can divide or keep whole",
                      .hint = "use tensor parallel 1 for this model"});
  }

  [[nodiscard]] std::string module_of(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.module.valid() ? graph_.modules[node.module.value] : "no module";
  }

  const OperatorGraph& graph_;
  const Mesh& mesh_;
  Plan plan_;
};

}  // namespace

Plan propagate(const OperatorGraph& graph, const Mesh& mesh) { return Walk(graph, mesh).run(); }

}  // namespace sgsim::lower::shard
