#include "sim/lower/recompute/recompute.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/lower/recompute/attention_core.h"

namespace sgsim::lower::recompute {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class Pass {
 public:
  Pass(const OperatorGraph& graph, const segment::Cut& cut, const std::vector<plan::Recompute>& choice, bool everything)
      : graph_(graph), cut_(cut), choice_(choice), everything_(everything) {
    SGSIM_CHECK(choice.size() == cut.count(), "one choice a position");
  }

  Recomputed run() {
    choose();
    if (!everything_) keep_needed();
    place();
    write();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool forward(std::uint32_t i) const {
    return graph_.nodes[i].kind == NodeKind::call && graph_.nodes[i].phase == Phase::forward;
  }
  [[nodiscard]] bool is_layer(std::uint32_t at) const { return cut_.role(at) == SegmentRole::layer; }

  void choose() {
    const std::size_t count = graph_.nodes.size();
    again_.assign(count, false);
    replaced_.assign(count, false);
    const bool any_selective = std::find(choice_.begin(), choice_.end(), plan::Recompute::selective) != choice_.end();
    const std::vector<bool> core = any_selective ? attention_core(graph_, cut_) : std::vector<bool>(count, false);
    bool found = false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t at = cut_.position[i];
      if (!forward(i) || !is_layer(at)) continue;
      if (choice_[at] == plan::Recompute::full) again_[i] = replaced_[i] = true;
      if (choice_[at] == plan::Recompute::selective && core[i]) again_[i] = replaced_[i] = found = true;
    }
    // The result of a recomputed attention core is kept: it is read outside the core.
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!forward(i) || again_[i]) continue;
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
        if (choice_[cut_.position[v.node.value]] == plan::Recompute::selective) replaced_[v.node.value] = false;
      });
    }
    if (any_selective && !found) {
      result_.notes.push_back({"selective_recompute_idle",
                               "selective recomputation has nothing to do: attention is fused and keeps no scores (choose none or full)"});
    }
  }

  /// Whether a backward node reads the recomputed result of node `source` in place of the one kept.
  [[nodiscard]] bool reads_again(std::uint32_t reader, std::uint32_t source) const {
    return replaced_[source] && graph_.nodes[reader].phase != Phase::forward && cut_.position[reader] == cut_.position[source];
  }

  /// Leaves only the operators whose recomputed results something reads.
  void keep_needed() {
    std::vector<bool> needed(graph_.nodes.size(), false);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind != NodeKind::call || graph_.nodes[i].phase == Phase::forward) continue;
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
        if (reads_again(i, v.node.value)) needed[v.node.value] = true;
      });
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(graph_.nodes.size()); i-- > 0;) {
      again_[i] = again_[i] && needed[i];
      if (!again_[i]) continue;
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
        if (again_[v.node.value] && cut_.position[v.node.value] == cut_.position[i]) needed[v.node.value] = true;
      });
    }
  }

  /// Each position's operators are run again just before the first backward node that reads one of them.
  void place() {
    before_.assign(cut_.count(), kNone);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind != NodeKind::call || graph_.nodes[i].phase == Phase::forward) continue;
      std::uint32_t& first = before_[cut_.position[i]];
      if (first != kNone) continue;
      const bool whole_layer = choice_[cut_.position[i]] == plan::Recompute::full && is_layer(cut_.position[i]);
      bool reads = whole_layer;
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) { reads = reads || (again_[v.node.value] && reads_again(i, v.node.value)); });
      if (reads) first = i;
    }
  }

  void write() {
    std::vector<std::vector<std::uint32_t>> lists(cut_.count());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (again_[i]) lists[cut_.position[i]].push_back(i);
    }
    first_id_.assign(graph_.nodes.size(), kNone);
    again_id_ = first_id_;
    OperatorGraph& out = result_.graph;
    out.name = graph_.name;
    out.modules = graph_.modules;
    out.module_types = graph_.module_types;
    out.micro_batch = graph_.micro_batch;
    out.sequence = graph_.sequence;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::uint32_t at = cut_.position[i];
      if (before_[at] == i) {
        for (std::uint32_t source : lists[at]) write_again(source);
      }
      write_node(i);
    }
    for (ValueRef v : graph_.outputs) out.outputs.push_back({NodeId{first_id_[v.node.value]}, v.output});
    for (const auto& [parameter, v] : graph_.gradients) {
      out.gradients[NodeId{first_id_[parameter.value]}] = {NodeId{first_id_[v.node.value]}, v.output};
    }
  }

  void write_again(std::uint32_t i) {
    Node node = graph_.nodes[i];
    node.name += "_again";
    node.phase = Phase::backward;
    if (!everything_) {
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) { hide(v, i); });
    }
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> outputs;
    graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
      const auto hidden = hidden_.find({cut_.position[i], v});
      const bool seen = run_again(v, i);
      ids.push_back(seen ? again_id_[v.node.value] : hidden != hidden_.end() ? hidden->second : first_id_[v.node.value]);
      outputs.push_back(!seen && hidden != hidden_.end() ? 0 : v.output);
    });
    append(std::move(node), i, ids, true, &outputs);
  }

  /// Whether the second run of node `reader` reads the second result of `v`: an operator of its own position.
  [[nodiscard]] bool run_again(ValueRef v, std::uint32_t reader) const {
    return again_id_[v.node.value] != kNone && cut_.position[v.node.value] == cut_.position[reader];
  }

  /// What recomputation reads from outside is renamed, so that a compiler's elimination of common subexpressions does not
  /// take the second run for the first one.
  void hide(ValueRef v, std::uint32_t reader) {
    const Node& by = graph_.nodes[reader];
    const std::uint32_t at = cut_.position[reader];
    if (run_again(v, reader) || hidden_.contains({at, v})) return;
    Node alias;
    alias.name = graph_.node(v.node).name + "_" + std::to_string(v.output) + "_again_" + std::to_string(at);
    alias.target = "aten.alias.default";
    alias.args = {{ValueRef{NodeId{first_id_[v.node.value]}, v.output}}};
    alias.outputs = {graph_.type(v)};
    alias.module = by.module;
    alias.seq_nr = by.seq_nr;
    alias.phase = Phase::backward;
    hidden_[{at, v}] = static_cast<std::uint32_t>(result_.graph.nodes.size());
    result_.graph.nodes.push_back(std::move(alias));
    result_.again.push_back(true);
    result_.source.push_back(v.node.value);
  }

  void write_node(std::uint32_t i) {
    const auto ids = operand_ids(i, [&](std::uint32_t source) { return again_id_[source] != kNone && reads_again(i, source); });
    append(graph_.nodes[i], i, ids, false);
  }

  /// New ids of what node `i` reads, in for_each_input order.
  template <class Again>
  [[nodiscard]] std::vector<std::uint32_t> operand_ids(std::uint32_t i, Again again) const {
    std::vector<std::uint32_t> ids;
    graph::for_each_input(graph_.nodes[i], [&](ValueRef v) {
      const std::uint32_t source = v.node.value;
      ids.push_back(again(source) ? again_id_[source] : first_id_[source]);
    });
    return ids;
  }

  void append(Node node, std::uint32_t source, const std::vector<std::uint32_t>& ids, bool again,
              const std::vector<std::uint32_t>* outputs = nullptr) {
    std::size_t next = 0;
    for (Argument& argument : node.args) rewire(argument, ids, outputs, next);
    for (auto& [key, argument] : node.kwargs) rewire(argument, ids, outputs, next);
    (again ? again_id_ : first_id_)[source] = static_cast<std::uint32_t>(result_.graph.nodes.size());
    result_.graph.nodes.push_back(std::move(node));
    result_.again.push_back(again);
    result_.source.push_back(source);
  }

  static void rewire(Argument& argument, const std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>* outputs, std::size_t& next) {
    if (auto* v = std::get_if<ValueRef>(&argument.value)) {
      v->node.value = ids[next];
      if (outputs != nullptr) v->output = (*outputs)[next];
      ++next;
    }
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) rewire(item, ids, outputs, next);
    }
  }

  const OperatorGraph& graph_;
  const segment::Cut& cut_;
  const std::vector<plan::Recompute>& choice_;
  bool everything_;
  std::vector<bool> again_;           // run again
  std::vector<bool> replaced_;        // backward readers take the second result
  std::vector<std::uint32_t> before_; // of each position: node before which it is run again
  std::vector<std::uint32_t> first_id_, again_id_;
  std::map<std::pair<std::uint32_t, ValueRef>, std::uint32_t> hidden_;  // (position, value) -> its renamed look
  Recomputed result_;
};

}  // namespace

Recomputed recompute(const OperatorGraph& graph, const segment::Cut& cut, const std::vector<plan::Recompute>& choice, bool everything) {
  return Pass(graph, cut, choice, everything).run();
}

}  // namespace sgsim::lower::recompute
