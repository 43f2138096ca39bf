#include "sim/lower/shard/context.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"
#include "sim/lower/segment/storage.h"
#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/draft.h"
#include "sim/lower/shard/ring_attention.h"
#include "sim/lower/shard/routing.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

using Shape = std::vector<std::int64_t>;

void replace(Argument& argument, const std::vector<ValueRef>& with, std::size_t& next) {
  if (auto* v = std::get_if<ValueRef>(&argument.value)) *v = with[next++];
  if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (Argument& item : *list) replace(item, with, next);
  }
}

class ContextPass {
 public:
  ContextPass(const OperatorGraph& graph, const ContextOptions& options)
      : old_(graph), options_(options), mesh_(mesh_of(graph, options)), draft_(graph, "cp"), routing_(graph, mesh_), trained_(segment::depends_on_parameters(graph)) {
    SGSIM_CHECK(options.cp > 1, "context parallel " + std::to_string(options.cp));
    SGSIM_CHECK(graph.sequence > 0 && graph.sequence % (2 * options.cp) == 0, std::to_string(graph.sequence) + " tokens over context parallel " + std::to_string(options.cp));
    draft_.out.sequence = graph.sequence / options.cp;
  }

  ContextSharded run() {
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      const Node& node = old_.nodes[i];
      if (node.kind != NodeKind::call) {
        set({NodeId{i}, 0}, {draft_.append(node), 0}, whole());
      } else if (!attention(i)) {
        rewrite(i);
      }
    }
    for (ValueRef v : old_.outputs) draft_.out.outputs.push_back(mapped_.at(v));
    for (const auto& [parameter, v] : old_.gradients) {
      const ValueRef gradient = provide(v, whole(), old_.node(v.node));
      draft_.out.gradients[mapped_.at({parameter, 0}).node] = gradient;
    }
    return {std::move(draft_.out), std::move(diagnostics_)};
  }

 private:
  static Mesh mesh_of(const OperatorGraph& graph, const ContextOptions& options) {
    Mesh mesh;
    mesh.tp = options.cp;
    mesh.batch = graph.micro_batch;
    mesh.sequence = graph.sequence;
    return mesh;
  }
  void set(ValueRef old, ValueRef value, const Placement& lie) {
    mapped_[old] = value;
    lies_[old] = lie;
  }
  [[nodiscard]] const Shape& shape(ValueRef old) const { return old_.type(old).shape; }

  // What operators do with divided tokens.

  /// Where the tokens run in ids that rows are looked up with: [batch, tokens], [1, tokens] or [tokens].
  [[nodiscard]] Placement tokens_of(const Shape& ids) const {
    if (const TokenDim at = token_dim(mesh_, ids); at.dim >= 0) return split(at.dim, true, at.outer);
    if (ids.size() == 2 && ids[0] == 1 && ids[1] == mesh_.sequence) return split(1, true);
    return !ids.empty() && ids[0] == mesh_.sequence ? split(0, true) : whole();
  }

  std::optional<Decision> decide(std::uint32_t i, const std::vector<ValueRef>& operands) const {
    const Node& node = old_.nodes[i];
    const Passage kind = passage(node.target);
    std::vector<Placement> have;
    for (ValueRef v : operands) have.push_back(lies_.at(v));
    if (kind == Passage::lookup && operands.size() == 2) {
      const Placement ids = have[1].sharded() ? have[1] : tokens_of(shape(operands[1]));
      return Decision{{whole(), ids}, {ids}};
    }
    const auto lies = [this](ValueRef v) {
      const auto known = lies_.find(v);
      return known != lies_.end() ? known->second : whole();
    };
    if (auto routed = routing_.decide(i, operands, have, lies)) return routed;
    const auto divided = std::find_if(have.begin(), have.end(), [](const Placement& p) { return p.sharded(); });
    if (divided == have.end()) return Decision{have, std::vector<Placement>(node.outputs.size())};
    switch (kind) {
      case Passage::elementwise: return elementwise(node, operands, have);
      case Passage::softmax: {
        auto decision = elementwise(node, operands, have);
        const int over = from_front(integer_at(node, node.target.find("_backward_data") != std::string::npos ? 2 : 1).value_or(-1), node.outputs[0].shape.size());
        if (decision && decision->results[0].dim == over) return std::nullopt;
        return decision;
      }
      case Passage::norm:
      case Passage::norm_gradient: return norm(node, operands, *divided);
      case Passage::product: return product(node, operands, have);
      case Passage::lookup_gradient: return lookup_gradient(operands, have);
      case Passage::loss:
      case Passage::loss_gradient: return loss(node, operands);
      case Passage::reduction:
        // Sums over tokens in the backward pass are gradients of parameters: data parallelism adds the other ranks' terms.
        if (!carry(old_, node, mesh_, *divided) && node.phase == Phase::backward) return Decision{have, std::vector<Placement>(node.outputs.size())};
        return view(node, operands, have);
      case Passage::whole_only:
        if (graph::classify(node.target) == graph::OperatorClass::factory && shape(operands[0]) == node.outputs[0].shape) return elementwise(node, operands, have);
        return std::nullopt;
      case Passage::join: {
        const auto carried = carry(old_, node, mesh_, *divided);
        if (!carried) return std::nullopt;
        return Decision{std::vector<Placement>(operands.size(), *divided), {*carried}};
      }
      case Passage::attention: return std::nullopt;
      default: return view(node, operands, have);
    }
  }

  std::optional<Decision> view(const Node& node, const std::vector<ValueRef>&, const std::vector<Placement>& have) const {
    const auto carried = carry(old_, node, mesh_, have[0]);
    if (!carried || !have[0].sharded()) return std::nullopt;
    return Decision{have, std::vector<Placement>(node.outputs.size(), *carried)};
  }

  std::optional<Decision> elementwise(const Node& node, const std::vector<ValueRef>& operands, const std::vector<Placement>& have) const {
    const std::size_t rank = node.outputs[0].shape.size();
    Placement target;
    for (std::size_t k = 0; k < operands.size() && !target.sharded(); ++k) {
      if (have[k].sharded()) target = on(have[k], have[k].dim + static_cast<int>(rank - shape(operands[k]).size()));
    }
    Decision decision;
    for (ValueRef v : operands) {
      const int own = target.dim - static_cast<int>(rank - shape(v).size());
      const bool broadcast = own < 0 || shape(v)[static_cast<std::size_t>(own)] == 1;
      decision.wanted.push_back(broadcast ? whole() : on(target, own));
    }
    for (const graph::TensorType& type : node.outputs) decision.results.push_back(type.shape.size() == rank ? target : whole());
    return decision;
  }

  std::optional<Decision> norm(const Node& node, const std::vector<ValueRef>& operands, const Placement& target) const {
    const bool gradient = passage(node.target) == Passage::norm_gradient;
    const auto x = tensor_at(node, gradient ? 1 : 0);
    const auto normalized = integers_at(node, gradient ? 2 : 1);
    if (!x || !normalized || target.dim >= static_cast<int>(shape(*x).size() - normalized->size())) return std::nullopt;
    Decision decision;
    for (ValueRef v : operands) decision.wanted.push_back(shape(v).size() == shape(*x).size() ? target : whole());
    for (std::size_t o = 0; o < node.outputs.size(); ++o) decision.results.push_back(gradient && o > 0 ? whole() : target);
    return decision;
  }

  std::optional<Decision> product(const Node& node, const std::vector<ValueRef>& operands, const std::vector<Placement>& have) const {
    const std::size_t a = operands.size() - 2, b = a + 1;
    const int rank = static_cast<int>(shape(operands[a]).size()), rows = rank - 2, shared = rank - 1;
    const bool of_rows = have[a].sharded() && have[a].dim == rows, of_columns = have[b].sharded() && have[b].dim == shared;
    const bool summed = (have[a].sharded() && have[a].dim == shared) || (have[b].sharded() && have[b].dim == rows);
    Decision decision{std::vector<Placement>(operands.size()), std::vector<Placement>(node.outputs.size())};
    if (of_rows + of_columns + summed != 1) return std::nullopt;
    if (summed) {
      const Placement& with = have[a].sharded() ? have[a] : have[b];
      decision.wanted[a] = on(with, shared);
      decision.wanted[b] = on(with, rows);
      return decision;
    }
    const std::size_t divided = of_rows ? a : b;
    decision.wanted[divided] = decision.results[0] = have[divided];
    return decision;
  }

  std::optional<Decision> lookup_gradient(const std::vector<ValueRef>& operands, const std::vector<Placement>& have) const {
    if (!have[0].sharded()) return std::nullopt;
    const int before = static_cast<int>(shape(operands[0]).size() - 1 - shape(operands[1]).size());
    const int own = have[0].dim - before;
    const bool broadcast = own < 0 || shape(operands[1])[static_cast<std::size_t>(own)] == 1;
    return Decision{{have[0], broadcast ? whole() : on(have[0], own)}, {whole()}};
  }

  std::optional<Decision> loss(const Node& node, const std::vector<ValueRef>& operands) const {
    const bool gradient = passage(node.target) == Passage::loss_gradient;
    const auto scores = tensor_at(node, gradient ? 1 : 0), target = tensor_at(node, gradient ? 2 : 1);
    if (!scores || !target) return std::nullopt;
    const Placement lie = lies_.at(*scores).sharded() ? lies_.at(*scores) : lies_.at(*target);
    if (lie.dim != 0) return std::nullopt;
    Decision decision;
    for (ValueRef v : operands) decision.wanted.push_back(v == *scores || v == *target ? lie : whole());
    for (const graph::TensorType& type : node.outputs) decision.results.push_back(type.shape.empty() ? whole() : lie);
    return decision;
  }

  // Writing.

  void rewrite(std::uint32_t i) {
    const Node& node = old_.nodes[i];
    std::vector<ValueRef> operands, provided;
    graph::for_each_input(node, [&](ValueRef v) { operands.push_back(v); });
    auto decision = decide(i, operands);
    if (!decision) {
      decision = Decision{std::vector<Placement>(operands.size()), std::vector<Placement>(node.outputs.size())};
      if (trained_[i]) diagnostics_.add("lower.shard.sequence_gathered", Severity::info, node.target + " (" + node.name + ")");
    }
    for (std::size_t k = 0; k < operands.size(); ++k) provided.push_back(provide(operands[k], decision->wanted[k], node));
    Node copy = node;
    std::size_t next = 0;
    for (Argument& argument : copy.args) replace(argument, provided, next);
    for (auto& [key, argument] : copy.kwargs) replace(argument, provided, next);
    std::vector<graph::TensorType> local;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const Placement& lie = decision->results[o];
      local.push_back(lie.sharded() ? graph::contiguous(local_shape(mesh_, lie, node.outputs[o].shape), node.outputs[o].dtype) : node.outputs[o]);
    }
    set_sizes(copy, local[0].shape);
    if (auto inferred = graph::infer(draft_.out, copy)) copy.outputs = std::move(*inferred);
    else copy.outputs = local;
    for (std::size_t o = 0; o < local.size(); ++o) {
      SGSIM_CHECK(copy.outputs.size() == local.size() && copy.outputs[o].shape == local[o].shape,
                  node.name + " (" + node.target + ") over context parallel ranks: " + graph::to_text(copy.outputs.at(o)) + " where " + graph::to_text(local[o]) + " is expected");
    }
    const NodeId id = draft_.append(std::move(copy));
    for (std::uint32_t o = 0; o < local.size(); ++o) set({NodeId{i}, o}, {id, o}, decision->results[o]);
  }

  static void set_sizes(Node& node, const Shape& shape) {
    const Passage kind = passage(node.target);
    if (kind != Passage::reshape && kind != Passage::expand && kind != Passage::slice_gradient && operator_name(node.target) != "new_zeros") return;
    auto* list = std::get_if<ArgumentList>(&node.args.at(1).value);
    if (list == nullptr || list->size() != shape.size()) return;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto* size = std::get_if<std::int64_t>(&(*list)[d].value);
      if (size != nullptr && *size != -1) *size = shape[d];
    }
  }

  /// A fused attention whose queries, keys and values are divided; false: another operator.
  bool attention(std::uint32_t i) {
    const Node& node = old_.nodes[i];
    const auto places = attention_places(node);
    if (!places) return false;
    const Placement tokens = split(2, true);
    if (lies_.at(*tensor_at(node, places->query)) != tokens) return false;
    RingCall call{.by = node, .places = *places, .args = node.args, .sequence = mesh_.sequence};
    for (std::size_t position = 0; position < call.args.size(); ++position) {
      auto* v = std::get_if<ValueRef>(&call.args[position].value);
      if (v == nullptr) continue;
      const Shape& of = shape(*v);
      const bool is_mask = places->mask == position;
      const bool rows = is_mask && of.size() >= 2 && of[of.size() - 2] == mesh_.sequence;
      const bool activation = !is_mask && of.size() >= 3;
      *v = provide(*v, rows ? split(static_cast<int>(of.size()) - 2, true) : activation ? tokens : whole(), node);
    }
    const std::vector<ValueRef> results = places->backward ? ring_backward(draft_, call, options_) : ring_forward(draft_, call, options_);
    for (std::uint32_t o = 0; o < results.size(); ++o) set({NodeId{i}, o}, results[o], node.outputs.at(o).shape.size() >= 3 ? tokens : whole());
    return true;
  }

  ValueRef provide(ValueRef old, const Placement& want, const Node& by) {
    const Placement& have = lies_.at(old);
    if (have == want) return mapped_.at(old);
    const ValueRef all = have.sharded() ? gather(old, by) : mapped_.at(old);
    return want.sharded() ? part(old, all, want, by) : all;
  }

  /// The own tokens of a whole value. A view, unless tokens of several samples follow each other in its dimension.
  ValueRef part(ValueRef old, ValueRef all, const Placement& want, const Node& by) {
    const auto key = std::tuple(old, want.dim, want.outer);
    if (const auto known = parts_.find(key); known != parts_.end()) return known->second;
    const Shape to = local_shape(mesh_, want, draft_.shape(all));
    ValueRef x = all;
    if (want.outer == 1) {
      x = draft_.slice(x, want.dim, 0, to[static_cast<std::size_t>(want.dim)], by);
    } else {
      Shape apart = draft_.shape(all);
      apart[static_cast<std::size_t>(want.dim)] /= want.outer;
      apart.insert(apart.begin() + want.dim, want.outer);
      x = draft_.slice(draft_.view(x, apart, by), want.dim + 1, 0, apart[static_cast<std::size_t>(want.dim) + 1] / options_.cp, by);
      x = draft_.call("aten.clone.default", {{x}}, by);
      Node& copy = draft_.out.nodes[x.node.value];
      copy.kwargs["memory_format"] = {std::string("torch.contiguous_format")};
      copy.outputs[0] = graph::contiguous(copy.outputs[0].shape, copy.outputs[0].dtype);
      x = draft_.view(x, to, by);
    }
    return parts_[key] = x;
  }

  /// Along another dimension than the first as if the dimensions before it were part of it.
  ValueRef gather(ValueRef old, const Node& by) {
    if (const auto known = gathered_.find(old); known != gathered_.end()) return known->second;
    const ValueRef x = mapped_.at(old);
    const auto dim = static_cast<std::ptrdiff_t>(lies_.at(old).dim);
    Shape to = draft_.shape(x), flat(to.begin() + dim, to.end());
    for (std::ptrdiff_t d = 0; d < dim; ++d) flat[0] *= to[static_cast<std::size_t>(d)];
    const ValueRef all = draft_.call("_c10d_functional.all_gather_into_tensor.default", {{draft_.view(x, flat, by)}, {std::int64_t{options_.cp}}, {std::string(kContextGroup)}}, by);
    to[static_cast<std::size_t>(dim)] *= options_.cp;
    return gathered_[old] = draft_.view(all, to, by);
  }

  const OperatorGraph& old_;
  const ContextOptions& options_;
  Mesh mesh_;
  Draft draft_;
  Routing routing_;
  std::vector<bool> trained_;
  Diagnostics diagnostics_;
  std::map<ValueRef, ValueRef> mapped_;
  std::map<ValueRef, Placement> lies_;
  std::map<std::tuple<ValueRef, int, std::int64_t>, ValueRef> parts_;
  std::map<ValueRef, ValueRef> gathered_;
};

}  // namespace

ContextSharded shard_context(const OperatorGraph& graph, const ContextOptions& options) { return ContextPass(graph, options).run(); }

}  // namespace sgsim::lower::shard
