#include "sim/lower/shard/rewrite.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::DType;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::TensorType;
using graph::ValueRef;

using Shape = std::vector<std::int64_t>;

void replace_operands(Argument& argument, const std::vector<ValueRef>& operands, std::size_t& next) {
  if (auto* v = std::get_if<ValueRef>(&argument.value)) *v = operands[next++];
  if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (Argument& item : *list) replace_operands(item, operands, next);
  }
}

/// Sizes in a list argument become those of `shape`; a -1 ("whatever fits") stays.
void set_sizes(Argument& argument, const Shape& shape) {
  auto* list = std::get_if<ArgumentList>(&argument.value);
  if (list == nullptr || list->size() != shape.size()) return;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto* size = std::get_if<std::int64_t>(&(*list)[i].value);
    if (size != nullptr && *size != -1) *size = shape[i];
  }
}

void divide_integer(Node& node, std::size_t position, std::int64_t limit, int tp) {
  if (position >= node.args.size()) return;
  auto* value = std::get_if<std::int64_t>(&node.args[position].value);
  if (value != nullptr && *value >= 0 && *value <= limit) *value /= tp;
}

/// Sizes that an operator has as constants, for results of local shape `local`.
void set_local_sizes(Node& node, const Placement& result, const Shape& global, const Shape& local, int tp) {
  switch (passage(node.target)) {
    case Passage::reshape:
    case Passage::expand: set_sizes(node.args.at(1), local); return;
    case Passage::slice_gradient:
      set_sizes(node.args.at(1), local);
      if (result.sharded() && from_front(integer_at(node, 2).value_or(0), global.size()) == result.dim) {
        const std::int64_t size = global[static_cast<std::size_t>(result.dim)];
        divide_integer(node, 3, size, tp);
        divide_integer(node, 4, size, tp);
      }
      return;
    case Passage::lookup_gradient:
      if (result.sharded()) node.args.at(2).value = local[0];
      return;
    default: return;
  }
}

/// Offsets and sizes of slices and splits along the divided dimension itself.
void set_local_offsets(Node& node, const Placement& operand, const TensorType& global, int tp) {
  if (!operand.sharded()) return;
  const std::int64_t size = global.shape[static_cast<std::size_t>(operand.dim)];
  if (passage(node.target) == Passage::slice && from_front(integer_at(node, 1).value_or(0), global.shape.size()) == operand.dim) {
    if (integer_at(node, 2).value_or(0) == 0 && integer_at(node, 3).value_or(size) >= size) return;
    divide_integer(node, 2, size, tp);
    divide_integer(node, 3, size, tp);
  }
  if (passage(node.target) == Passage::divide && from_front(integer_at(node, 2).value_or(0), global.shape.size()) == operand.dim) {
    divide_integer(node, 1, size, tp);
    if (auto* list = std::get_if<ArgumentList>(&node.args.at(1).value)) {
      for (Argument& item : *list) std::get<std::int64_t>(item.value) /= tp;
    }
  }
}

}  // namespace

Rewriter::Rewriter(const OperatorGraph& graph, const Mesh& mesh, const Plan& plan) : old_(graph), mesh_(mesh), plan_(plan) {
  mapped_.resize(plan.placements.size());
  out_.name = graph.name;
  out_.modules = graph.modules;
  out_.module_types = graph.module_types;
  out_.micro_batch = graph.micro_batch;
  out_.sequence = graph.sequence;
  out_.nodes.reserve(graph.nodes.size() + graph.nodes.size() / 4);
}

OperatorGraph Rewriter::run() {
  for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
    if (old_.nodes[i].kind == NodeKind::call) {
      rewrite_call(i);
    } else {
      copy_source(i);
    }
  }
  finish();
  return std::move(out_);
}

void Rewriter::copy_source(std::uint32_t id) {
  Node node = old_.nodes[id];
  const Placement placement = plan_.of({NodeId{id}, 0});
  if (placement.sharded()) {
    node.outputs[0] = graph::contiguous(local_shape(mesh_, placement, node.outputs[0].shape), node.outputs[0].dtype);
  }
  mapped({NodeId{id}, 0}) = {NodeId{static_cast<std::uint32_t>(out_.nodes.size())}, 0};
  out_.nodes.push_back(std::move(node));
}

void Rewriter::rewrite_call(std::uint32_t id) {
  const Node& node = old_.nodes[id];
  const bool look = plan_.choices.weights.parameter({NodeId{id}, 0}).has_value();
  const Transfer& transfer = plan_.transfers[id];
  if (!transfer.results.empty() && transfer.results[0].mixed) return;  // written where the sum is taken
  switch (transfer.rewrite) {
    case Rewrite::bias_after_sum: mapped({NodeId{id}, 0}) = bias_after_sum(node, transfer); return;
    case Rewrite::parallel_log_softmax: mapped({NodeId{id}, 0}) = parallel_log_softmax(node, transfer); return;
    case Rewrite::parallel_loss: {
      const std::vector<ValueRef> results = parallel_loss(node, transfer);
      for (std::uint32_t o = 0; o < results.size(); ++o) mapped({NodeId{id}, o}) = results[o];
      return;
    }
    case Rewrite::none:
    case Rewrite::sum_at_once: break;
  }
  std::vector<ValueRef> operands;
  std::size_t next = 0;
  graph::for_each_input(node, [&](ValueRef v) {
    operands.push_back(look ? mapped(v) : provide(v, transfer.wanted[next], node));
    ++next;
  });
  std::vector<Placement> results = transfer.results;
  if (look) results.assign(node.outputs.size(), plan_.of({NodeId{id}, 0}));
  const bool at_once = transfer.rewrite == Rewrite::sum_at_once;
  const std::vector<Placement> made = at_once ? std::vector<Placement>(node.outputs.size()) : results;
  const NodeId copy = append_copy(node, operands, made);
  for (std::uint32_t o = 0; o < node.outputs.size(); ++o) mapped({NodeId{id}, o}) = {copy, o};
  if (at_once) {
    ValueRef& result = mapped({NodeId{id}, 0});
    result = results[0].sharded() ? reduce_scatter(result, results[0].dim, node) : all_reduce(result, "sum", node);
  }
}

/// Graph results are whole; each gradient lies as its parameter does. Under sequence parallel the gradient of a whole
/// parameter stays a partial sum: it is reduced once a step with all others (Korthikanti et al. 2022, section 4.2.2).
void Rewriter::finish() {
  for (ValueRef v : old_.outputs) out_.outputs.push_back(provide(v, whole(), old_.node(v.node)));
  for (const auto& [parameter, gradient] : old_.gradients) {
    const Placement want = plan_.choices.weights.of(parameter);
    const Placement have = plan_.of(gradient);
    const bool later = mesh_.sequence_parallel && have.partial() && want.replicated();
    const ValueRef value = later ? mapped(gradient) : provide(gradient, want, old_.node(gradient.node));
    out_.gradients.emplace(mapped({parameter, 0}).node, value);
  }
}

NodeId Rewriter::append(Node node, const std::vector<TensorType>& fallback) {
  if (auto inferred = graph::infer(out_, node)) {
    node.outputs = std::move(*inferred);
  } else {
    SGSIM_CHECK(!fallback.empty(), "no shapes for " + node.target);
    node.outputs = fallback;
  }
  const NodeId id{static_cast<std::uint32_t>(out_.nodes.size())};
  out_.nodes.push_back(std::move(node));
  return id;
}

NodeId Rewriter::append_copy(const Node& old, const std::vector<ValueRef>& operands, const std::vector<Placement>& results) {
  Node node = old;
  std::size_t next = 0;
  for (Argument& argument : node.args) replace_operands(argument, operands, next);
  for (auto& [key, argument] : node.kwargs) replace_operands(argument, operands, next);
  std::vector<TensorType> local;
  for (std::size_t o = 0; o < old.outputs.size(); ++o) {
    const TensorType& global = old.outputs[o];
    local.push_back(results[o].sharded() ? graph::contiguous(local_shape(mesh_, results[o], global.shape), global.dtype) : global);
  }
  set_local_sizes(node, results[0], old.outputs[0].shape, local[0].shape, mesh_.tp);
  if (const auto first = tensor_at(old, 0)) {
    const Placement operand = results[0].sharded() ? plan_.of(*first) : whole();
    set_local_offsets(node, operand, old_.type(*first), mesh_.tp);
  }
  const NodeId id = append(std::move(node), local);
  const Node& made = out_.nodes[id.value];
  for (std::size_t o = 0; o < local.size(); ++o) {
    SGSIM_CHECK(made.outputs.size() == local.size() && made.outputs[o].shape == local[o].shape,
                made.name + ": " + graph::to_text(made.outputs.at(o)) + " where its placement (" + to_text(results[o]) + ") gives " +
                    graph::to_text(local[o]));
  }
  return id;
}

ValueRef Rewriter::call(std::string target, std::vector<Argument> args, const Node& by) {
  Node node;
  node.name = "tp" + std::to_string(inserted_++) + "_" + std::string(operator_name(target));
  node.target = std::move(target);
  node.args = std::move(args);
  node.module = by.module;
  node.phase = by.phase;
  node.seq_nr = by.seq_nr;
  return {append(std::move(node), {}), 0};
}

ValueRef Rewriter::view(ValueRef value, Shape shape, const Node& by) {
  if (type(value).shape == shape) return value;
  ArgumentList sizes;
  for (std::int64_t size : shape) sizes.push_back({size});
  return call("aten.view.default", {{value}, {std::move(sizes)}}, by);
}

ValueRef Rewriter::cast(ValueRef value, DType dtype, const Node& by) {
  if (type(value).dtype == dtype) return value;
  const ValueRef result = call("aten._to_copy.default", {{value}}, by);
  Node& node = out_.nodes[result.node.value];
  node.kwargs["dtype"] = {"torch." + std::string(graph::to_text(dtype))};
  node.outputs[0].dtype = dtype;
  return result;
}

}  // namespace sgsim::lower::shard
