#include "sim/lower/shard/experts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"
#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/weights.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

using Shape = std::vector<std::int64_t>;

constexpr const char* kAllToAll = "_c10d_functional.all_to_all_single.default";
constexpr const char* kExpertGroup = "ep";

/// How a value lies: as without expert parallelism, or with experts / ep in dimension 0 and, where it has rows of tokens,
/// ep times as many of them.
struct Lie {
  bool local = false;
  int rows = -1;  // dimension of the rows; -1: a weight or its gradient
  bool operator==(const Lie&) const = default;
};

class ExpertPass {
 public:
  ExpertPass(const OperatorGraph& graph, std::int64_t experts, int ep) : old_(graph), experts_(experts), ep_(ep), weights_(graph) {
    SGSIM_CHECK(experts % ep == 0, std::to_string(ep) + " ranks for " + std::to_string(experts) + " experts");
    out_.name = graph.name;
    out_.modules = graph.modules;
    out_.module_types = graph.module_types;
    out_.micro_batch = graph.micro_batch;
    out_.sequence = graph.sequence;
    lies_.resize(graph.nodes.size());
    mapped_.resize(graph.nodes.size());
    find_weights();
    find_late_widenings();
  }

  ExpertSharded run() {
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      if (old_.nodes[i].kind == NodeKind::call) {
        rewrite(i);
      } else {
        copy_source(i);
      }
    }
    for (ValueRef v : old_.outputs) out_.outputs.push_back(plain(v, old_.node(v.node)));
    for (const auto& [parameter, v] : old_.gradients) {
      SGSIM_CHECK(lies_[parameter.value] == lies_[v.node.value], "gradient of " + old_.node(parameter).name + " lies otherwise");
      out_.gradients[NodeId{mapped_[parameter.value]}] = {NodeId{mapped_[v.node.value]}, v.output};
    }
    ExpertSharded result{std::move(out_), std::vector<bool>(out_.nodes.size(), false)};
    result.expert.assign(result.graph.nodes.size(), false);
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      if (old_.nodes[i].kind == NodeKind::parameter) result.expert[mapped_[i]] = lies_[i].local;
    }
    return result;
  }

 private:
  /// Weights of experts: parameters [experts, ., .] that a batched product reads.
  void find_weights() {
    for (const Node& node : old_.nodes) {
      if (node.kind != NodeKind::call || operator_name(node.target) != "bmm") continue;
      graph::for_each_input(node, [&](ValueRef v) {
        const auto parameter = weights_.parameter(v);
        if (!parameter) return;
        const Shape& shape = old_.node(*parameter).outputs[0].shape;
        if (shape.size() == 3 && shape[0] == experts_) lies_[parameter->value].local = true;
      });
    }
  }

  /// Casts to a wider type whose result no operator of the experts reads: what is exchanged there is the narrow value, as
  /// modules exchange what they were given and autograd casts the gradient where the forward pass cast the value.
  void find_late_widenings() {
    widens_late_.assign(old_.nodes.size(), false);
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      const Node& node = old_.nodes[i];
      if (node.kind != NodeKind::call || operator_name(node.target) != "_to_copy") continue;
      const auto from = tensor_at(node, 0);
      widens_late_[i] = from && graph::size_of(old_.type(*from).dtype) < graph::size_of(node.outputs[0].dtype);
    }
    for (const Node& node : old_.nodes) {
      if (node.kind != NodeKind::call) continue;
      const bool of_experts = operator_name(node.target) == "bmm" || passage(node.target) == Passage::elementwise;
      if (of_experts) graph::for_each_input(node, [&](ValueRef v) { widens_late_[v.node.value] = false; });
    }
  }

  void copy_source(std::uint32_t i) {
    Node node = old_.nodes[i];
    if (lies_[i].local) node.outputs[0] = graph::contiguous(local(node.outputs[0].shape, lies_[i]), node.outputs[0].dtype);
    append(i, std::move(node));
  }

  [[nodiscard]] Shape local(Shape shape, const Lie& lie) const {
    if (!lie.local) return shape;
    shape[0] /= ep_;
    if (lie.rows >= 0) shape[static_cast<std::size_t>(lie.rows)] *= ep_;
    return shape;
  }

  /// Where the results of a call lie; operands that must be exchanged to lie so are set in `wanted`.
  Lie decide(const Node& node, bool widens_late, const std::vector<ValueRef>& operands, std::vector<Lie>& wanted) const {
    for (ValueRef v : operands) wanted.push_back(lies_[v.node.value]);
    if (widens_late && wanted[0].rows >= 0) {
      wanted[0] = {};
      return {};
    }
    const bool any = std::any_of(wanted.begin(), wanted.end(), [](const Lie& lie) { return lie.local; });
    if (!any) return {};
    const Passage kind = passage(node.target);
    if (operator_name(node.target) == "bmm") return decide_product(wanted);
    if ((kind == Passage::transpose || kind == Passage::move) && operands.size() == 1) {
      if (wanted[0].rows < 0) return wanted[0];
      const auto carried = carry(old_, node, Mesh{}, split(wanted[0].rows));
      return {true, carried->dim};
    }
    if (kind == Passage::elementwise || (kind == Passage::reshape && old_.type(operands[0]).shape == node.outputs[0].shape)) {
      const auto with = std::find_if(wanted.begin(), wanted.end(), [](const Lie& lie) { return lie.local; });
      const Lie lie = *with;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (old_.type(operands[i]).shape == node.outputs[0].shape || masks_rows(operands[i], node, lie)) wanted[i] = lie;
      }
      return lie;
    }
    if (kind == Passage::divide || kind == Passage::join) {  // gate and up side by side: columns, which stay as they are
      const Lie lie = *std::find_if(wanted.begin(), wanted.end(), [](const Lie& l) { return l.local; });
      const auto along = from_front(integer_at(node, kind == Passage::divide ? 2 : 1).value_or(0), node.outputs[0].shape.size());
      if (along != 0 && along != lie.rows) {
        for (Lie& want : wanted) want = lie;
        return lie;
      }
    }
    for (Lie& lie : wanted) lie = {};
    return {};
  }

  /// [experts, rows, 1]: which rows are used. Known where the rows are without an exchange, from how many each rank sent.
  [[nodiscard]] bool masks_rows(ValueRef v, const Node& by, const Lie& lie) const {
    Shape rows = by.outputs[0].shape;
    if (lie.rows != 1 || rows.size() != 3) return false;
    rows[2] = 1;
    return old_.type(v).shape == rows && old_.type(v).dtype == graph::DType::bool_;
  }

  static Lie decide_product(std::vector<Lie>& wanted) {
    Lie &a = wanted[0], &b = wanted[1];
    if (!b.local && a.local && a.rows < 0) b = {true, 2};  // weight x rows
    if (!a.local && b.local && b.rows < 0) a = {true, 1};  // rows x weight
    if (!a.local) a = {true, 2};                           // weight gradient: rows transposed x rows
    if (!b.local) b = {true, 1};
    if (a.rows == 2 && b.rows == 1) return {true, -1};
    return {true, b.rows < 0 ? 1 : 2};
  }

  void rewrite(std::uint32_t i) {
    const Node& node = old_.nodes[i];
    std::vector<ValueRef> operands;
    graph::for_each_input(node, [&](ValueRef v) { operands.push_back(v); });
    std::vector<Lie> wanted;
    const Lie lie = decide(node, widens_late_[i], operands, wanted);
    std::vector<ValueRef> provided;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Lie have = lies_[operands[k].node.value];
      if (have == wanted[k]) {
        provided.push_back({NodeId{mapped_[operands[k].node.value]}, operands[k].output});
      } else {
        provided.push_back(wanted[k].local ? send(operands[k], wanted[k].rows, node) : plain(operands[k], node));
      }
    }
    Node copy = node;
    std::size_t next = 0;
    for (Argument& argument : copy.args) replace(argument, provided, next);
    for (auto& [key, argument] : copy.kwargs) replace(argument, provided, next);
    if (lie.local && passage(node.target) == Passage::reshape) copy.args.at(1) = sizes(local(node.outputs[0].shape, lie));
    if (lie.local) {
      auto inferred = graph::infer(out_, copy);
      SGSIM_CHECK(inferred && inferred->at(0).shape == local(node.outputs[0].shape, lie), node.name + " does not divide over experts");
      copy.outputs = std::move(*inferred);
    }
    lies_[i] = lie;
    append(i, std::move(copy));
  }

  static void replace(Argument& argument, const std::vector<ValueRef>& with, std::size_t& next) {
    if (auto* v = std::get_if<ValueRef>(&argument.value)) *v = with[next++];
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) replace(item, with, next);
    }
  }

  void append(std::uint32_t i, Node node) {
    mapped_[i] = static_cast<std::uint32_t>(out_.nodes.size());
    out_.nodes.push_back(std::move(node));
  }

  // Exchanges. A value [experts, rows, columns] (or with rows and columns swapped) and its local form
  // [experts / ep, ep rows, columns].

  ValueRef send(ValueRef old, int rows, const Node& by) {
    const auto key = std::make_pair(old, true);
    if (const auto done = exchanged_.find(key); done != exchanged_.end()) return done->second;
    // The transposed rows of a weight gradient are those that were sent already.
    if (const auto base = transposed_rows(old)) {
      const ValueRef sent = send(*base, 3 - rows, by);
      return exchanged_[key] = call("aten.transpose.int", {{sent}, {std::int64_t{1}}, {std::int64_t{2}}}, by);
    }
    ValueRef x{NodeId{mapped_[old.node.value]}, old.output};
    if (type(x).dtype == graph::DType::bool_) return exchanged_[key] = view(x, local(type(x).shape, {true, rows}), by);  // masks_rows()
    if (rows == 2) x = call("aten.transpose.int", {{x}, {std::int64_t{1}}, {std::int64_t{2}}}, by);
    const Shape shape = type(x).shape;  // [E, C, H]
    const ValueRef sent = exchange(x, by);
    ValueRef y = view(sent, {ep_, shape[0] / ep_, shape[1], shape[2]}, by);
    y = view(in_order(y, by), {shape[0] / ep_, ep_ * shape[1], shape[2]}, by);
    if (rows == 2) y = call("aten.transpose.int", {{y}, {std::int64_t{1}}, {std::int64_t{2}}}, by);
    return exchanged_[key] = y;
  }

  /// What `v` is with rows and columns swapped, if it is no more than that.
  [[nodiscard]] std::optional<ValueRef> transposed_rows(ValueRef v) const {
    const Node& node = old_.node(v.node);
    if (node.kind != NodeKind::call || (passage(node.target) != Passage::transpose && passage(node.target) != Passage::move)) return std::nullopt;
    const auto base = tensor_at(node, 0);
    if (!base || old_.type(*base).shape.size() != 3) return std::nullopt;
    const auto first = carry(old_, node, Mesh{}, split(1)), second = carry(old_, node, Mesh{}, split(2));
    return first && second && first->dim == 2 && second->dim == 1 ? base : std::nullopt;
  }

  ValueRef plain(ValueRef old, const Node& by) {
    ValueRef x{NodeId{mapped_[old.node.value]}, old.output};
    const Lie lie = lies_[old.node.value];
    if (!lie.local) return x;
    SGSIM_CHECK(lie.rows >= 0, "a weight of experts is read whole: " + old_.node(old.node).name);
    const auto key = std::make_pair(old, false);
    if (const auto done = exchanged_.find(key); done != exchanged_.end()) return done->second;
    if (lie.rows == 2) x = call("aten.transpose.int", {{x}, {std::int64_t{1}}, {std::int64_t{2}}}, by);
    const Shape shape = type(x).shape;  // [E / ep, ep C, H]
    const ValueRef ordered = in_order(view(x, {shape[0], ep_, shape[1] / ep_, shape[2]}, by), by);
    ValueRef y = exchange(view(ordered, {shape[0] * ep_, shape[1] / ep_, shape[2]}, by), by);
    if (lie.rows == 2) y = call("aten.transpose.int", {{y}, {std::int64_t{1}}, {std::int64_t{2}}}, by);
    return exchanged_[key] = y;
  }

  /// Swaps the first two dimensions in memory.
  ValueRef in_order(ValueRef x, const Node& by) {
    const ValueRef swapped = call("aten.transpose.int", {{x}, {std::int64_t{0}}, {std::int64_t{1}}}, by);
    const ValueRef copy = call("aten.clone.default", {{swapped}}, by);
    Node& node = out_.nodes[copy.node.value];
    node.kwargs["memory_format"] = {std::string("torch.contiguous_format")};
    node.outputs[0] = graph::contiguous(node.outputs[0].shape, node.outputs[0].dtype);
    return copy;
  }

  ValueRef exchange(ValueRef x, const Node& by) {
    const std::int64_t rows = type(x).shape[0];
    const ArgumentList parts(static_cast<std::size_t>(ep_), Argument{rows / ep_});
    return call(kAllToAll, {{x}, {parts}, {parts}, {std::string(kExpertGroup)}}, by);
  }

  ValueRef view(ValueRef x, Shape shape, const Node& by) { return call("aten.view.default", {{x}, sizes(shape)}, by); }

  static Argument sizes(const Shape& shape) {
    ArgumentList list;
    for (std::int64_t size : shape) list.push_back({size});
    return {std::move(list)};
  }

  ValueRef call(std::string target, std::vector<Argument> args, const Node& by) {
    Node node;
    node.name = "ep" + std::to_string(inserted_++) + "_" + std::string(operator_name(target));
    node.target = std::move(target);
    node.args = std::move(args);
    node.module = by.module;
    node.phase = by.phase;
    node.seq_nr = by.seq_nr;
    auto inferred = graph::infer(out_, node);
    SGSIM_CHECK(inferred.has_value(), "no shapes for " + node.target);
    node.outputs = std::move(*inferred);
    out_.nodes.push_back(std::move(node));
    return {NodeId{static_cast<std::uint32_t>(out_.nodes.size() - 1)}, 0};
  }

  [[nodiscard]] const graph::TensorType& type(ValueRef v) const { return out_.nodes[v.node.value].outputs[v.output]; }

  const OperatorGraph& old_;
  std::int64_t experts_;
  std::int64_t ep_;
  Weights weights_;
  OperatorGraph out_;
  std::vector<Lie> lies_;               // of each old node's results
  std::vector<std::uint32_t> mapped_;   // new id of each old node
  std::map<std::pair<ValueRef, bool>, ValueRef> exchanged_;  // (old value, sent out) -> what arrived
  std::vector<bool> widens_late_;       // by old node
  int inserted_ = 0;
};

}  // namespace

ExpertSharded shard_experts(const OperatorGraph& graph, std::int64_t experts, int ep) { return ExpertPass(graph, experts, ep).run(); }

}  // namespace sgsim::lower::shard
