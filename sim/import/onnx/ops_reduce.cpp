#include "sim/import/onnx/converter.h"

namespace sgsim::import::onnx {
namespace {

void reduce(Converter& c, const Node& node) {
  ValueRef x = c.required(node, 0);
  std::optional<Dims> axes = c.integers(node, std::size_t{1});
  if (!axes && node.inputs.size() > 1 && !node.inputs[1].empty()) c.fail(node, "axes that are computed from data", "constant axes");
  if (!axes) axes = c.integers(node, "axes");
  if ((!axes || axes->empty()) && c.integer(node, "noop_with_empty_axes", 0) != 0) {
    c.set(node, 0, x);
    return;
  }
  Dims all;
  for (std::size_t i = 0; i < c.type(x).shape.size(); ++i) all.push_back(static_cast<std::int64_t>(i));
  const Dims over = axes && !axes->empty() ? *axes : all;
  if (node.op == "ReduceSumSquare" || node.op == "ReduceL2") x = c.call(node, "aten.mul.Tensor", {{x}, {x}});
  if (node.op == "ReduceL1") x = c.call(node, "aten.abs.default", {{x}});
  const std::string_view target = node.op == "ReduceMean" ? "aten.mean.dim" : node.op == "ReduceMax" ? "aten.amax.default" : node.op == "ReduceMin" ? "aten.amin.default" : "aten.sum.dim_IntList";
  ValueRef result = c.call(node, target, {{x}, list_argument(over), {c.integer(node, "keepdims", 1) != 0}});
  if (node.op == "ReduceL2") result = c.call(node, "aten.sqrt.default", {{result}});
  c.set(node, 0, result);
}

/// Before version 13 the dimensions from the axis on are one; since then the axis is one dimension.
void softmax(Converter& c, const Node& node) {
  ValueRef x = c.required(node, 0);
  const Dims shape = c.type(x).shape;
  const bool flat = c.opset("") < 13;
  const std::size_t axis = c.axis(node, c.integer(node, "axis", flat ? 1 : -1), shape.size());
  std::int64_t along = static_cast<std::int64_t>(axis);
  if (flat && axis + 1 < shape.size()) {
    Dims two = {1, 1};
    for (std::size_t i = 0; i < shape.size(); ++i) two[i < axis ? 0 : 1] *= shape[i];
    x = c.reshape(node, x, std::move(two));
    along = 1;
  }
  ValueRef result = c.call(node, node.op == "LogSoftmax" ? "aten._log_softmax.default" : "aten._softmax.default", {{x}, {along}, {false}});
  c.set(node, 0, c.reshape(node, result, shape));
}

void arg_extremum(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  Dims shape = c.type(x).shape;
  const std::size_t axis = c.axis(node, c.integer(node, "axis", 0), shape.size());
  const bool keep = c.integer(node, "keepdims", 1) != 0;
  shape[axis] = 1;
  if (!keep) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  c.set(node, 0, c.call(node, node.op == "ArgMax" ? "aten.argmax.default" : "aten.argmin.default", {{x}, {static_cast<std::int64_t>(axis)}, {keep}}, {}, {graph::contiguous(std::move(shape), DType::int64)}));
}

void top_k(Converter& c, const Node& node) {
  const auto k = c.integers(node, std::size_t{1});
  if (!k || k->size() != 1) c.fail(node, "k that is computed from data", "a constant k");
  const ValueRef result = c.call(node, "aten.topk.default", {{c.required(node, 0)}, {(*k)[0]}, {c.integer(node, "axis", -1)}});
  c.set(node, 0, result);
  c.set(node, 1, ValueRef{.node = result.node, .output = 1});
}

void cumulative_sum(Converter& c, const Node& node) {
  const auto axis = c.integers(node, std::size_t{1});
  if (!axis || axis->size() != 1) c.fail(node, "an axis that is computed from data", "a constant axis");
  c.set(node, 0, c.call(node, "aten.cumsum.default", {{c.required(node, 0)}, {(*axis)[0]}}));
}

}  // namespace

const std::map<std::string_view, Handler>& reduce_handlers() {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"ReduceSum", reduce}, {"ReduceMean", reduce}, {"ReduceMax", reduce}, {"ReduceMin", reduce}, {"ReduceSumSquare", reduce}, {"ReduceL1", reduce}, {"ReduceL2", reduce},
      {"Softmax", softmax}, {"LogSoftmax", softmax}, {"ArgMax", arg_extremum}, {"ArgMin", arg_extremum}, {"TopK", top_k}, {"CumSum", cumulative_sum}};
  return kHandlers;
}

}  // namespace sgsim::import::onnx
