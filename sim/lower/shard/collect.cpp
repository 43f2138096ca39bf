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

ValueRef Rewriter::provide(ValueRef old, const Placement& want, const Node& by) {
  const Placement have = plan_.of(old);
  if (have.spread == want.spread && have.dim == want.dim && have.tokens == want.tokens) return mapped(old);
  if (have.partial()) return sum(old, want, by);
  if (have.replicated() && want.sharded()) return slice(mapped(old), want, by);
  SGSIM_CHECK(have.sharded(), "cannot make a partial sum of " + old_.node(old.node).name);
  ValueRef value = have.tokens ? gather(old, by) : all_gather(mapped(old), have.dim, by);
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
    const Placement placement = plan_.of(source);
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
    gathered = all_gather(mapped(point), plan_.of(point).dim, by);
    collected_[key] = gathered;
  }
  return repeat(point, old, gathered, whole(), by);
}

ValueRef Rewriter::sum(ValueRef old, const Placement& want, const Node& by) {
  // The sum is taken where the terms are made, before views and casts.
  ValueRef root = old;
  while (is_look(old_.node(root.node)) && plan_.of(looked_at(old_.node(root.node))).partial()) root = looked_at(old_.node(root.node));
  const Placement at_root = plan_.of(root);
  const bool scatter = want.sharded() && want.tokens && at_root.dim >= 0;
  const Placement placed = scatter ? split(at_root.dim, true, at_root.outer) : whole();
  // A sum of the forward pass is kept for the backward pass; a gathered value is not.
  const Key key{root, placed.spread, placed.tokens, old_.type(root).dtype, old_.node(root.node).phase};
  auto done = collected_.find(key);
  if (done == collected_.end()) {
    const Node& maker = old_.node(root.node);
    const Node& owner = maker.module.valid() && maker.phase == by.phase ? maker : by;
    // Terms that were cast up before they were added are reduced in the type of the products.
    const DType type_of_sum = old_.type(root).dtype;
    const bool narrow = size_of(at_root.summed) < size_of(type_of_sum) && graph::is_floating(at_root.summed);
    ValueRef value = narrow ? cast(mapped(root), at_root.summed, owner) : mapped(root);
    value = scatter ? reduce_scatter(value, at_root.dim, owner) : all_reduce(value, "sum", owner);
    done = collected_.emplace(key, cast(value, type_of_sum, owner)).first;
  }
  const ValueRef value = repeat(root, old, done->second, placed, by);
  const Placement reached = placed.sharded() ? summed(mesh_, plan_.of(old)) : placed;
  if (want.spread == reached.spread && want.dim == reached.dim) return value;
  SGSIM_CHECK(want.sharded() && reached.replicated(), "a sum is wanted " + to_text(want) + " where it is " + to_text(reached));
  return slice(value, want, by);
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
