// How a value gets from where it is made to how it is read: slices, gathers, sums.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/rewrite.h"

namespace sgsim::lower::shard {
namespace {

using graph::DType;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

/// Views and casts: what a value can be followed back through.
bool is_look(const Node& node) {
  if (node.kind != NodeKind::call || node.outputs.size() != 1) return false;
  const auto kind = graph::classify(node.target);
  return kind == graph::OperatorClass::view || operator_name(node.target) == "_to_copy";
}

ValueRef looked_at(const Node& node) { return *tensor_at(node, 0); }

}  // namespace

Placement Rewriter::settled(ValueRef old) const {
  const Placement placement = plan_.of(old);
  return placement.partial() ? summed(mesh_, placement) : placement;
}

ValueRef Rewriter::provide(ValueRef old, const Placement& want, const Node& by) {
  const Placement made = plan_.of(old);
  if (made.partial() && want.partial()) return mapped(old);
  const Placement have = settled(old);
  if (have.spread == want.spread && have.dim == want.dim && have.tokens == want.tokens) return made.partial() ? sum(old, by) : mapped(old);
  if (have.replicated() && want.sharded()) return slice(made.partial() ? sum(old, by) : mapped(old), want, by);
  SGSIM_CHECK(have.sharded() && !want.partial(), old_.node(old.node).name + " is " + to_text(have) + " and wanted " + to_text(want));
  const ValueRef value = have.tokens ? gather(old, by) : all_gather(mapped(old), have.dim, by);
  return want.sharded() ? slice(value, want, by) : value;
}

ValueRef Rewriter::slice(ValueRef value, const Placement& want, const Node& by) {
  const std::int64_t local = local_size(mesh_, want, type(value).shape[static_cast<std::size_t>(want.dim)]);
  return call("aten.slice.Tensor", {{value}, {std::int64_t{want.dim}}, {std::int64_t{0}}, {local}}, by);
}

ValueRef Rewriter::gather(ValueRef old, const Node& by) {
  // One gather for all that look at the same value in the same type (q, k and v of one normalised input), after the cast.
  std::vector<ValueRef> path = {old};
  while (is_look(old_.node(path.back().node))) {
    const ValueRef source = looked_at(old_.node(path.back().node));
    const Placement placement = settled(source);
    if (!placement.sharded() || !placement.tokens) break;
    path.push_back(source);
  }
  const ValueRef root = path.back();
  std::size_t at = path.size() - 1;
  for (std::size_t i = path.size(); i-- > 0;) {
    if (size_of(old_.type(path[i]).dtype) < size_of(old_.type(path[at]).dtype)) at = i;
  }
  const ValueRef point = path[at];
  const Key key{root, Spread::replicated, false, old_.type(point).dtype, by.phase};
  const auto done = collected_.find(key);
  ValueRef gathered;
  if (done != collected_.end() && type(done->second).shape == old_.type(point).shape) {
    gathered = done->second;
  } else {
    gathered = all_gather(provide(point, settled(point), by), settled(point).dim, by);
    collected_[key] = gathered;
  }
  return repeat(point, old, gathered, whole(), by);
}

ValueRef Rewriter::sum(ValueRef old, const Node& by) {
  // The sum is taken where the terms are made, before views and casts.
  ValueRef root = old;
  while (is_look(old_.node(root.node)) && plan_.of(looked_at(old_.node(root.node))).partial()) root = looked_at(old_.node(root.node));
  const Placement at_root = plan_.of(root), placed = settled(root);
  // A sum of the forward pass is kept for the backward pass; a gathered value is not.
  const Key key{root, placed.spread, placed.tokens, old_.type(root).dtype, old_.node(root.node).phase};
  auto done = collected_.find(key);
  if (done == collected_.end()) {
    const Node& maker = old_.node(root.node);
    const Node& owner = maker.module.valid() && maker.phase == by.phase ? maker : by;
    std::vector<ValueRef> terms, rest;
    collect_terms(root, terms, rest);
    ValueRef value = mapped(terms.front());
    for (std::size_t i = 1; i < terms.size(); ++i) value = call("aten.add.Tensor", {{value}, {mapped(terms[i])}}, by);
    // Terms that were cast up before they were added are reduced in the type of the products.
    const DType type_of_sum = type(value).dtype;
    const bool narrow = size_of(at_root.summed) < size_of(type_of_sum) && graph::is_floating(at_root.summed);
    if (narrow) value = cast(value, at_root.summed, owner);
    value = placed.sharded() ? reduce_scatter(value, placed.dim, owner) : all_reduce(value, "sum", owner);
    value = cast(value, type_of_sum, owner);
    for (ValueRef other : rest) value = call("aten.add.Tensor", {{provide(other, settled(other), by)}, {value}}, by);
    done = collected_.emplace(key, value).first;
  }
  return repeat(root, old, done->second, placed, by);
}

void Rewriter::collect_terms(ValueRef old, std::vector<ValueRef>& terms, std::vector<ValueRef>& rest) {
  if (!plan_.of(old).mixed) {
    terms.push_back(old);
    return;
  }
  const std::vector<Placement>& wanted = plan_.transfers[old.node.value].wanted;
  std::size_t next = 0;
  graph::for_each_input(old_.node(old.node), [&](ValueRef v) {
    if (wanted[next++].partial()) {
      collect_terms(v, terms, rest);
    } else {
      rest.push_back(v);
    }
  });
}

ValueRef Rewriter::repeat(ValueRef from, ValueRef to, ValueRef value, const Placement& placed, const Node& by) {
  std::vector<ValueRef> path;
  for (ValueRef v = to; v != from; v = looked_at(old_.node(v.node))) path.push_back(v);
  Placement placement = placed;
  for (std::size_t i = path.size(); i-- > 0;) {
    const auto key = std::make_pair(path[i], value);
    const auto known = repeated_.find(key);
    const Node& node = old_.node(path[i].node);
    if (placement.sharded()) {
      const auto carried = carry(old_, node, mesh_, placement);
      SGSIM_CHECK(carried.has_value(), node.name + " does not carry " + to_text(placement));
      placement = *carried;
    }
    if (known != repeated_.end()) {
      value = known->second;
      continue;
    }
    Node copy = node;
    copy.name = "tp" + std::to_string(inserted_++) + "_" + node.name;
    copy.phase = std::max(node.phase, by.phase);  // a view of what the backward pass gathers again is made there
    value = {append_copy(copy, {value}, {placement}), 0};
    repeated_[key] = value;
  }
  return value;
}

ValueRef Rewriter::all_reduce(ValueRef value, const char* operation, const Node& by) {
  return call(kAllReduce, {{value}, {std::string(operation)}, {std::string(kTensorGroup)}}, by);
}

ValueRef Rewriter::all_gather(ValueRef value, int dim, const Node& by) {
  // Along another dimension than the first: as if the dimensions before it were part of it. Megatron-LM lays activations
  // out [sequence, batch, hidden], so that no copy is needed; the same is assumed for [batch, sequence, hidden].
  std::vector<std::int64_t> shape = type(value).shape, flat(shape.begin() + dim, shape.end());
  for (int i = 0; i < dim; ++i) flat[0] *= shape[static_cast<std::size_t>(i)];
  const ValueRef gathered = call(kAllGather, {{view(value, flat, by)}, {std::int64_t{mesh_.tp}}, {std::string(kTensorGroup)}}, by);
  shape[static_cast<std::size_t>(dim)] *= mesh_.tp;
  return view(gathered, std::move(shape), by);
}

ValueRef Rewriter::reduce_scatter(ValueRef value, int dim, const Node& by) {
  std::vector<std::int64_t> shape = type(value).shape, flat(shape.begin() + dim, shape.end());
  for (int i = 0; i < dim; ++i) flat[0] *= shape[static_cast<std::size_t>(i)];
  const ValueRef scattered = call(kReduceScatter, {{view(value, flat, by)}, {std::string("sum")}, {std::int64_t{mesh_.tp}}, {std::string(kTensorGroup)}}, by);
  shape[static_cast<std::size_t>(dim)] /= mesh_.tp;
  return view(scattered, std::move(shape), by);
}

}  // namespace sgsim::lower::shard
