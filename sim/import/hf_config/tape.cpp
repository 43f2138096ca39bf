#include "sim/import/hf_config/tape.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/graph/operators.h"

namespace sgsim::import::hf {
void put(std::vector<Argument>& args, ValueRef value) { args.push_back({value}); }
void put(std::vector<Argument>& args, Argument value) { args.push_back(std::move(value)); }
void put(std::vector<Argument>& args, std::nullptr_t) { args.emplace_back(); }
void put(std::vector<Argument>& args, bool value) { args.push_back({value}); }
void put(std::vector<Argument>& args, double value) { args.push_back({value}); }
void put(std::vector<Argument>& args, std::int64_t value) { args.push_back({value}); }
void put(std::vector<Argument>& args, const Dims& sizes) {
  graph::ArgumentList list;
  list.reserve(sizes.size());
  for (const std::int64_t size : sizes) list.push_back({size});
  args.push_back({std::move(list)});
}

Argument list_of(const std::vector<ValueRef>& values) {
  graph::ArgumentList list;
  list.reserve(values.size());
  for (const ValueRef value : values) list.push_back({value});
  return {std::move(list)};
}

Argument flags_of(std::initializer_list<bool> values) {
  graph::ArgumentList list;
  list.reserve(values.size());
  for (const bool value : values) list.push_back({value});
  return {std::move(list)};
}

Argument text_of(DType dtype) { return {fmt::format("torch.{}", graph::to_text(dtype))}; }

void Tape::reserve(std::size_t nodes) {
  graph_.nodes.reserve(nodes);
  differentiable_.reserve(nodes);
  gradients_.reserve(nodes);
}

ValueRef Tape::source(graph::NodeKind kind, std::string name, Dims shape, DType dtype, bool trained) {
  graph::Node node;
  node.kind = kind;
  node.name = std::move(name);
  node.outputs.push_back(graph::contiguous(std::move(shape), dtype));
  graph_.nodes.push_back(std::move(node));
  differentiable_.push_back(kind == graph::NodeKind::parameter && trained);
  return {NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, 0};
}

void Tape::enter(const std::string& path, std::string_view type) {
  const auto [found, added] = modules_.try_emplace(path, ModuleId{static_cast<std::uint32_t>(graph_.modules.size())});
  if (added) {
    graph_.modules.push_back(path);
    graph_.module_types.emplace_back(type);
  }
  module_ = found->second;
}

/// As torch.fx names nodes: the operator's name, then _1, _2 ...
std::string Tape::name_for(std::string_view target) {
  std::string_view name = target.substr(target.find('.') + 1);
  name = name.substr(0, name.find('.'));
  const int times = names_[name]++;
  std::string unique(name);
  if (times > 0) unique.append("_").append(std::to_string(times));
  return unique;
}

namespace {

void mix(std::size_t& hash, std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL; }

void mix(std::size_t& hash, const TensorType& type) {
  mix(hash, static_cast<std::size_t>(type.dtype));
  for (const std::int64_t size : type.shape) mix(hash, static_cast<std::size_t>(size));
  for (const std::int64_t stride : type.stride) mix(hash, static_cast<std::size_t>(stride));
}

}  // namespace

std::size_t Tape::signature(const graph::Node& node) const {
  std::size_t hash = std::hash<std::string_view>()(node.target);
  mix(hash, node.args.size());
  for (const Argument& argument : node.args) {
    mix(hash, argument.value.index());
    if (const auto* ref = std::get_if<ValueRef>(&argument.value)) mix(hash, graph_.type(*ref));
    if (const auto* number = std::get_if<std::int64_t>(&argument.value)) mix(hash, static_cast<std::size_t>(*number));
  }
  return hash;
}

bool Tape::alike(const Argument& a, const Argument& b) const {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* ref = std::get_if<ValueRef>(&a.value)) return graph_.type(*ref) == graph_.type(std::get<ValueRef>(b.value));
  const auto* list = std::get_if<graph::ArgumentList>(&a.value);
  if (list == nullptr) return a.value == b.value;
  const auto& other = std::get<graph::ArgumentList>(b.value);
  return std::equal(list->begin(), list->end(), other.begin(), other.end(), [&](const Argument& x, const Argument& y) { return alike(x, y); });
}

bool Tape::alike(const graph::Node& a, const graph::Node& b) const {
  const auto same = [&](const Argument& x, const Argument& y) { return alike(x, y); };
  const auto same_keyword = [&](const auto& x, const auto& y) { return x.first == y.first && alike(x.second, y.second); };
  return a.target == b.target && std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), same) &&
         std::equal(a.kwargs.begin(), a.kwargs.end(), b.kwargs.begin(), b.kwargs.end(), same_keyword);
}

std::vector<TensorType> Tape::results_of(const graph::Node& node) {
  NodeId& before = inferred_[signature(node)];
  if (before.valid() && alike(graph_.node(before), node)) return graph_.node(before).outputs;
  auto outputs = graph::infer(graph_, node);
  SGSIM_CHECK(outputs.has_value(), "the operands of the generated node " + node.name + " do not fit " + node.target);
  before = NodeId{static_cast<std::uint32_t>(graph_.nodes.size())};
  return std::move(*outputs);
}

ValueRef Tape::append(std::string_view target, std::vector<Argument> args, Keywords keywords) {
  graph::Node node;
  node.name = name_for(target);
  node.target = target;
  node.args = std::move(args);
  node.kwargs = std::move(keywords);
  node.phase = phase_;
  node.module = module_;
  node.seq_nr = seq_nr_;
  node.outputs = results_of(node);
  graph_.nodes.push_back(std::move(node));
  differentiable_.push_back(false);
  return {NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, 0};
}

void Tape::on_backward(ValueRef result, std::initializer_list<ValueRef> operands, std::function<void(ValueRef)> step) {
  on_backward_any(result.node, operands, [this, result, step = std::move(step)] {
    if (const auto arrived = gradient(result)) step(*arrived);
  });
}

void Tape::on_backward_any(NodeId node, std::initializer_list<ValueRef> operands, std::function<void()> step) {
  bool any = false;
  for (const ValueRef operand : operands) any = any || differentiable(operand);
  if (!any) return;
  differentiable_[node.value] = true;
  graph_.nodes[node.value].seq_nr = ++seq_nr_;
  steps_.push_back({.node = node, .module = module_, .seq_nr = seq_nr_, .run = std::move(step)});
}

ValueRef& Tape::slot(ValueRef value) {
  if (value.output > 0) return further_gradients_[value];
  if (gradients_.size() <= value.node.value) gradients_.resize(graph_.nodes.size());
  return gradients_[value.node.value];
}

std::optional<ValueRef> Tape::gradient(ValueRef value) {
  const ValueRef arrived = slot(value);
  return arrived.node.valid() ? std::optional(arrived) : std::nullopt;
}

void Tape::add_gradient(ValueRef value, ValueRef gradient) {
  if (!differentiable(value)) return;
  if (const auto arrived = this->gradient(value)) gradient = call("aten.add.Tensor", *arrived, gradient);
  slot(value) = gradient;
}

graph::OperatorGraph Tape::finish(ValueRef loss, std::int64_t micro_batch, std::int64_t sequence) {
  phase_ = graph::Phase::backward;
  const ValueRef one = call("aten.ones_like.default", loss);
  slot(loss) = one;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    module_ = steps_[i].module;
    seq_nr_ = steps_[i].seq_nr;
    steps_[i].run();
  }
  graph_.outputs = {loss};
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].kind != graph::NodeKind::parameter) continue;
    if (const auto arrived = gradient({NodeId{i}, 0})) graph_.gradients.emplace(NodeId{i}, *arrived);
  }
  graph_.micro_batch = micro_batch;
  graph_.sequence = sequence;
  return std::move(graph_);
}

}  // namespace sgsim::import::hf
