#include <array>

#include "sim/graph/operators.h"
#include "sim/import/onnx/converter.h"

namespace sgsim::import::onnx {
namespace {

struct Pair {
  std::string_view op, target;
};
constexpr std::array<Pair, 25> kUnary{{{"Relu", "aten.relu.default"}, {"Sigmoid", "aten.sigmoid.default"}, {"Tanh", "aten.tanh.default"}, {"Erf", "aten.erf.default"},
                                       {"Exp", "aten.exp.default"}, {"Log", "aten.log.default"}, {"Sqrt", "aten.sqrt.default"}, {"Neg", "aten.neg.default"},
                                       {"Abs", "aten.abs.default"}, {"Reciprocal", "aten.reciprocal.default"}, {"Sin", "aten.sin.default"}, {"Cos", "aten.cos.default"},
                                       {"Sign", "aten.sign.default"}, {"Softplus", "aten.softplus.default"}, {"HardSwish", "aten.hardswish.default"}, {"Gelu", "aten.gelu.default"},
                                       {"Not", "aten.logical_not.default"}, {"LeakyRelu", "aten.leaky_relu.default"}, {"Swish", "aten.silu.default"}, {"IsNaN", "aten.isnan.default"},
                                       {"IsInf", "aten.isinf.default"}, {"Elu", "aten.silu.default"}, {"HardSigmoid", "aten.sigmoid.default"}, {"Mish", "aten.silu.default"}, {"Selu", "aten.silu.default"}}};
constexpr std::array<Pair, 16> kBinary{{{"Add", "aten.add.Tensor"}, {"Sub", "aten.sub.Tensor"}, {"Mul", "aten.mul.Tensor"}, {"Div", "aten.div.Tensor"},
                                        {"Pow", "aten.pow.Tensor_Tensor"}, {"Mod", "aten.remainder.Tensor"}, {"Equal", "aten.eq.Tensor"}, {"Less", "aten.lt.Tensor"},
                                        {"Greater", "aten.gt.Tensor"}, {"LessOrEqual", "aten.le.Tensor"}, {"GreaterOrEqual", "aten.ge.Tensor"}, {"And", "aten.logical_and.default"},
                                        {"Or", "aten.logical_or.default"}, {"PRelu", "aten.mul.Tensor"}, {"BitwiseAnd", "aten.bitwise_and.Tensor"}, {"BitwiseOr", "aten.bitwise_or.Tensor"}}};

std::string_view target_of(std::string_view op) {
  for (const Pair& pair : kUnary) {
    if (pair.op == op) return pair.target;
  }
  for (const Pair& pair : kBinary) {
    if (pair.op == op) return pair.target;
  }
  return {};
}

void unary(Converter& c, const Node& node) {
  const std::string_view op = node.op;
  if (op == "Elu" || op == "HardSigmoid" || op == "Mish" || op == "Selu") c.count("approximated_operator", Severity::warning, node.op);  // a like amount of arithmetic
  c.set(node, 0, c.call(node, target_of(op), {{c.required(node, 0)}}));
}

void binary(Converter& c, const Node& node) {
  if (node.op == "PRelu") c.count("approximated_operator", Severity::warning, node.op);
  const ValueRef a = c.required(node, 0);
  if (const Constant* scalar = c.constant(node, 1); scalar != nullptr && scalar->values.size() == 1 && scalar->shape.empty()) {
    // A number, as aten has it: no tensor is read.
    const double value = scalar->values[0];
    const Argument number = graph::is_floating(scalar->dtype) ? Argument{value} : Argument{static_cast<std::int64_t>(value)};
    c.set(node, 0, c.call(node, node.op == "Pow" ? "aten.pow.Tensor_Scalar" : target_of(node.op), {{a}, number}));
    return;
  }
  c.set(node, 0, c.call(node, target_of(node.op), {{a}, {c.required(node, 1)}}));
}

void variadic(Converter& c, const Node& node) {
  ValueRef sum = c.required(node, 0);
  const std::string_view target = node.op == "Max" ? "aten.maximum.default" : node.op == "Min" ? "aten.minimum.default" : "aten.add.Tensor";
  for (std::size_t i = 1; i < node.inputs.size(); ++i) sum = c.call(node, target, {{sum}, {c.required(node, i)}});
  if (node.op == "Mean") sum = c.call(node, "aten.div.Tensor", {{sum}, {static_cast<std::int64_t>(node.inputs.size())}});
  c.set(node, 0, sum);
}

void clip(Converter& c, const Node& node) {
  const auto bound = [&](std::size_t input, const char* attribute) -> Argument {
    if (const Constant* known = c.constant(node, input); known != nullptr && known->values.size() == 1) return {known->values[0]};
    if (node.attributes.contains(attribute)) return {c.real(node, attribute, 0.0)};
    return {};
  };
  c.set(node, 0, c.call(node, "aten.clamp.default", {{c.required(node, 0)}, bound(1, "min"), bound(2, "max")}));
}

void dropout(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Constant* training = c.constant(node, 2);
  if (training == nullptr || training->values.empty() || training->values[0] == 0.0) {
    c.set(node, 0, x);  // as ONNX runs it: nothing
    c.count("dropout_off", Severity::info, node.name);
    return;
  }
  const Constant* ratio = c.constant(node, 1);
  const ValueRef result = c.call(node, "aten.native_dropout.default", {{x}, {ratio != nullptr && !ratio->values.empty() ? ratio->values[0] : 0.5}, {true}});
  c.set(node, 0, result);
  c.set(node, 1, ValueRef{.node = result.node, .output = 1});
}

void cast(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  std::optional<DType> dtype = dtype_of(c.integer(node, "to", 0));
  if (node.op == "CastLike") dtype = c.type(c.required(node, 1)).dtype;
  if (!dtype) c.fail(node, "an element type that the simulator does not have", "a floating or integer type");
  if (c.type(x).dtype == *dtype) {
    c.set(node, 0, x);
    return;
  }
  c.set(node, 0, c.call(node, "aten._to_copy.default", {{x}}, {{"dtype", {"torch." + std::string(graph::to_text(*dtype))}}}));
}

void where(Converter& c, const Node& node) { c.set(node, 0, c.call(node, "aten.where.self", {{c.required(node, 0)}, {c.required(node, 1)}, {c.required(node, 2)}})); }

void identity(Converter& c, const Node& node) { c.set(node, 0, c.required(node, 0)); }

/// Local response normalization: a square, a sum over neighbouring channels, a power, a division. aten has no operator.
void local_response(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const ValueRef square = c.call(node, "aten.mul.Tensor", {{x}, {x}});
  const ValueRef power = c.call(node, "aten.pow.Tensor_Scalar", {{square}, {c.real(node, "beta", 0.75)}});
  c.set(node, 0, c.call(node, "aten.div.Tensor", {{x}, {power}}));
  c.count("approximated_operator", Severity::warning, "LRN: the sum over neighbouring channels is left out");
}

}  // namespace

const std::map<std::string_view, Handler>& pointwise_handlers() {
  static const std::map<std::string_view, Handler> kHandlers = [] {
    std::map<std::string_view, Handler> handlers = {{"Sum", variadic}, {"Max", variadic}, {"Min", variadic}, {"Mean", variadic}, {"Clip", clip},
                                                    {"Dropout", dropout}, {"Cast", cast}, {"CastLike", cast}, {"Where", where}, {"Identity", identity}, {"LRN", local_response}};
    for (const Pair& pair : kUnary) handlers.emplace(pair.op, unary);
    for (const Pair& pair : kBinary) handlers.emplace(pair.op, binary);
    return handlers;
  }();
  return kHandlers;
}

}  // namespace sgsim::import::onnx
