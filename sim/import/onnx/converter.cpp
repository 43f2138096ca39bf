#include "sim/import/onnx/converter.h"

#include <cmath>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/operators.h"

namespace sgsim::import::onnx {
namespace {

constexpr double kMostElements = 1e15;

bool sane(const Dims& shape) {
  double elements = 1.0;
  for (const std::int64_t size : shape) {
    if (size < 0) return false;
    elements *= static_cast<double>(std::max<std::int64_t>(size, 1));
  }
  return elements < kMostElements;
}

void remap(Argument& argument, const std::vector<std::uint32_t>& to) {
  if (auto* ref = std::get_if<ValueRef>(&argument.value)) ref->node.value = to[ref->node.value];
  if (auto* list = std::get_if<graph::ArgumentList>(&argument.value)) {
    for (Argument& item : *list) remap(item, to);
  }
}

}  // namespace

Argument list_argument(const Dims& values) {
  graph::ArgumentList list;
  for (const std::int64_t value : values) list.push_back({value});
  return {std::move(list)};
}

graph::OperatorGraph Converter::run() {
  graph_.name = model_.graph.name;
  remember_types(model_.graph);
  for (const Tensor& tensor : model_.graph.initializers) add_initializer(tensor);
  for (const ValueInfo& input : model_.graph.inputs) {
    if (!values_.contains(input.name)) add_input(input);
  }
  for (const Node& node : model_.graph.nodes) convert(node);
  for (const ValueInfo& output : model_.graph.outputs) {
    const auto found = values_.find(output.name);
    if (found != values_.end()) graph_.outputs.push_back(found->second);
  }
  return sources_first();
}

void Converter::count(std::string_view what, Severity severity, std::string_view example) { report_.add(fmt::format("import.onnx.{}", what), severity, example); }

void Converter::fail(const Node& node, std::string found, std::string expected) const {
  throw InputError({.file = model_.file, .where = fmt::format("node {} \"{}\"", node.op, node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name), .found = std::move(found), .expected = std::move(expected), .hint = ""});
}

void Converter::remember_types(const Graph& graph) {
  for (const auto* list : {&graph.values, &graph.outputs}) {
    for (const ValueInfo& info : *list) {
      const auto dtype = dtype_of(info.data_type);
      if (!dtype || !info.shape) continue;
      Dims shape;
      for (const Dimension& dim : *info.shape) shape.push_back(dim.size.value_or(-1));
      if (sane(shape)) declared_.insert_or_assign(info.name, graph::contiguous(std::move(shape), *dtype));
    }
  }
}

std::optional<TensorType> Converter::declared(const std::string& name) const {
  const auto found = declared_.find(name);
  return found == declared_.end() ? std::nullopt : std::optional(found->second);
}

ValueRef Converter::source(graph::NodeKind kind, std::string name, TensorType type) {
  graph::Node node;
  node.kind = kind;
  node.name = std::move(name);
  node.outputs = {std::move(type)};
  ++names_[node.name];
  graph_.nodes.push_back(std::move(node));
  return {.node = NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, .output = 0};
}

void Converter::add_initializer(const Tensor& tensor) {
  const auto dtype = dtype_of(tensor.data_type);
  if (!dtype || !sane(tensor.dims)) {
    count("dropped_initializer", Severity::error, fmt::format("{}: element type {} that the simulator does not have, or its size", tensor.name, tensor.data_type));
    return;
  }
  if (tensor.values && !graph::is_floating(*dtype)) {  // a shape or an index: a node only where an operator reads it as a tensor
    constants_.insert_or_assign(tensor.name, Constant{.dtype = *dtype, .shape = tensor.dims, .values = *tensor.values});
    count("constant", Severity::info, tensor.name);
    return;
  }
  if (tensor.values && tensor.values->size() == 1) constants_.insert_or_assign(tensor.name, Constant{.dtype = *dtype, .shape = tensor.dims, .values = *tensor.values});
  count(tensor.external ? "external_weight" : tensor.has_data ? "weight" : "absent_weight", Severity::info, tensor.name);
  values_.insert_or_assign(tensor.name, source(graph::is_floating(*dtype) ? graph::NodeKind::parameter : graph::NodeKind::buffer, tensor.name, graph::contiguous(tensor.dims, *dtype)));
}

void Converter::add_input(const ValueInfo& info) {
  if (constants_.contains(info.name)) return;
  const auto dtype = dtype_of(info.data_type);
  if (!dtype || !info.shape) {
    throw InputError({.file = model_.file, .where = "input \"" + info.name + "\"", .found = "no tensor with element type and rank", .expected = "a tensor input", .hint = ""});
  }
  Dims shape;
  for (const Dimension& dim : *info.shape) {
    if (!dim.size) count("symbolic_dimension", Severity::warning, fmt::format("{} of input {} taken as 1", dim.symbol.empty() ? "an unknown dimension" : dim.symbol, info.name));
    shape.push_back(dim.size.value_or(1));
  }
  if (!sane(shape)) throw InputError({.file = model_.file, .where = "input \"" + info.name + "\"", .found = "a negative or enormous size", .expected = "sizes of a tensor", .hint = ""});
  if (graph_.sequence == 0 && !shape.empty() && graph_.micro_batch == 1) {
    graph_.micro_batch = std::max<std::int64_t>(1, shape[0]);
    if (!graph::is_floating(*dtype) && shape.size() == 2) graph_.sequence = shape[1];
  }
  count("input", Severity::info, info.name);
  values_.insert_or_assign(info.name, source(graph::NodeKind::input, info.name, graph::contiguous(std::move(shape), *dtype)));
}

std::optional<ValueRef> Converter::tensor(const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input].empty()) return std::nullopt;
  const std::string& name = node.inputs[input];
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  const auto known = constants_.find(name);
  if (known == constants_.end()) fail(node, "the input \"" + name + "\"", "a value that was made before");
  const ValueRef ref = source(graph::NodeKind::buffer, name, graph::contiguous(known->second.shape, known->second.dtype));
  values_.insert_or_assign(name, ref);
  return ref;
}

ValueRef Converter::required(const Node& node, std::size_t input) {
  const auto ref = tensor(node, input);
  if (!ref) fail(node, fmt::format("no input {}", input), "an input that the operator needs");
  return *ref;
}

const Constant* Converter::constant(const Node& node, std::size_t input) const {
  if (input >= node.inputs.size()) return nullptr;
  const auto found = constants_.find(node.inputs[input]);
  return found == constants_.end() ? nullptr : &found->second;
}

std::optional<Dims> Converter::integers(const Node& node, std::size_t input) const {
  const Constant* known = constant(node, input);
  if (known == nullptr) return std::nullopt;
  Dims result;
  for (const double value : known->values) result.push_back(static_cast<std::int64_t>(std::max(-9e15, std::min(9e15, value))));
  return result;
}

std::int64_t Converter::opset(std::string_view domain) const {
  const auto found = model_.opsets.find(domain);
  return found == model_.opsets.end() ? 1 : found->second;
}

std::int64_t Converter::integer(const Node& node, std::string_view attribute, std::int64_t otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.i;
}
double Converter::real(const Node& node, std::string_view attribute, double otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.f;
}
std::optional<Dims> Converter::integers(const Node& node, std::string_view attribute) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? std::nullopt : std::optional(found->second.ints);
}
std::string Converter::text(const Node& node, std::string_view attribute, std::string otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? std::move(otherwise) : found->second.s;
}

std::size_t Converter::axis(const Node& node, std::int64_t index, std::size_t rank) const {
  const auto size = static_cast<std::int64_t>(rank);
  if (index < -size || index >= size) fail(node, fmt::format("axis {}", index), fmt::format("an axis of {} dimensions", rank));
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

ValueRef Converter::call(const Node& node, std::string_view target, std::vector<Argument> args, std::map<std::string, Argument> kwargs, std::vector<TensorType> types) {
  graph::Node result;
  result.target = target;
  result.args = std::move(args);
  result.kwargs = std::move(kwargs);
  std::string name = node.outputs.empty() || node.outputs[0].empty() ? node.op : node.outputs[0];
  if (const int times = names_[name]++; times > 0) name += fmt::format(".{}", times);
  result.name = std::move(name);
  if (types.empty()) {
    auto inferred = graph::infer(graph_, result);
    if (!inferred) {
      std::string operands;
      graph::for_each_input(result, [&](ValueRef ref) { operands += (operands.empty() ? "" : ", ") + graph::to_text(graph_.type(ref)); });
      fail(node, fmt::format("{} of ({})", target, operands), "operands that fit the operator");
    }
    types = std::move(*inferred);
  }
  for (const TensorType& type : types) {
    if (!sane(type.shape)) fail(node, graph::to_text(type), "a size that a machine could hold");
  }
  result.outputs = std::move(types);
  graph_.nodes.push_back(std::move(result));
  return {.node = NodeId{static_cast<std::uint32_t>(graph_.nodes.size() - 1)}, .output = 0};
}

ValueRef Converter::absent_weight(const Node& node, TensorType type) {
  if (!sane(type.shape)) fail(node, graph::to_text(type), "a size that a machine could hold");
  count("absent_weight", Severity::info, node.outputs.empty() ? node.op : node.outputs[0]);
  return source(graph::NodeKind::parameter, node.outputs.empty() ? node.op : node.outputs[0], std::move(type));
}

ValueRef Converter::reshape(const Node& node, ValueRef value, Dims shape) {
  const TensorType& from = type(value);
  if (from.shape == shape) return value;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements = graph::wrapping_product(elements, size);
  if (!sane(shape) || elements != from.elements()) fail(node, fmt::format("{} in the shape {}", graph::to_text(from), fmt::format("[{}]", fmt::join(shape, ", "))), "a shape of as many elements");
  if (!graph::view_strides(from, shape)) value = call(node, "aten.clone.default", {{value}}, {{"memory_format", {std::string("torch.contiguous_format")}}}, {graph::contiguous(from.shape, from.dtype)});
  return call(node, "aten.view.default", {{value}, list_argument(shape)});
}

void Converter::set(const Node& node, std::size_t output, ValueRef value) {
  if (output < node.outputs.size() && !node.outputs[output].empty()) values_.insert_or_assign(node.outputs[output], value);
}
void Converter::set(const Node& node, std::size_t output, Constant value) {
  if (output < node.outputs.size() && !node.outputs[output].empty()) constants_.insert_or_assign(node.outputs[output], std::move(value));
}

void Converter::convert(const Node& node) {
  count("node", Severity::info, node.op);
  if (node.domain.empty()) {
    if (fold(*this, node)) {
      count("folded", Severity::info, node.op);
      return;
    }
    if (const Handler handler = handler_of(node.op)) {
      handler(*this, node);
      return;
    }
  }
  keep(node);
}

/// An operator that aten does not have, with the types that the model declares (or of its first operand, where they are equal by
/// the operator's definition).
void Converter::keep(const Node& node) {
  if (node.attributes.contains("body")) fail(node, "a loop", "a graph without loops: how often it runs depends on data");
  std::vector<Argument> args;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto ref = tensor(node, i);
    args.push_back(ref ? Argument{*ref} : Argument{});
  }
  std::vector<TensorType> types;
  for (const std::string& output : node.outputs) {
    const auto known = declared(output);
    if (!known && !output.empty()) fail(node, "an operator that is not known, without declared result", "an operator of the standard domain, or shapes from onnx.shape_inference");
    types.push_back(known.value_or(graph::absent()));
  }
  if (types.empty()) return;
  const std::string target = fmt::format("onnx.{}{}{}", node.domain, node.domain.empty() ? "" : ".", node.op);
  count("kept_operator", Severity::warning, target);
  ValueRef ref = call(node, target, std::move(args), {}, std::move(types));
  if (node.domain == "ai.onnx.preview.training") graph_.nodes[ref.node.value].phase = graph::Phase::optimizer;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) set(node, i, ValueRef{.node = ref.node, .output = static_cast<std::uint32_t>(i)});
}

void Converter::inline_graph(const Node& node, const Graph& body) {
  if (++depth_ > 16) fail(node, "more than 16 branches inside each other", "a flatter graph");
  remember_types(body);
  for (const Tensor& tensor : body.initializers) add_initializer(tensor);
  for (const Node& inner : body.nodes) convert(inner);
  for (std::size_t i = 0; i < body.outputs.size() && i < node.outputs.size(); ++i) {
    const std::string& name = body.outputs[i].name;
    if (const auto known = constants_.find(name); known != constants_.end()) set(node, i, Constant(known->second));
    if (const auto found = values_.find(name); found != values_.end()) set(node, i, ValueRef(found->second));
  }
  --depth_;
}

/// Constants that operators read as tensors were added where they were first read; sources stand first in a graph.
graph::OperatorGraph Converter::sources_first() {
  std::vector<std::uint32_t> to(graph_.nodes.size());
  std::vector<graph::Node> nodes;
  nodes.reserve(graph_.nodes.size());
  for (const bool calls : {false, true}) {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if ((graph_.nodes[i].kind == graph::NodeKind::call) != calls) continue;
      to[i] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(std::move(graph_.nodes[i]));
    }
  }
  for (graph::Node& node : nodes) {
    for (Argument& argument : node.args) remap(argument, to);
    for (auto& [key, argument] : node.kwargs) remap(argument, to);
  }
  for (ValueRef& output : graph_.outputs) output.node.value = to[output.node.value];
  graph_.nodes = std::move(nodes);
  return std::move(graph_);
}

}  // namespace sgsim::import::onnx
