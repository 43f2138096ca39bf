#include <string_view>

#include "sim/compile/arithmetic.h"
#include "sim/compile/fuse/program_builder.h"

namespace sgsim::compile::fuse {

using graph::DType;

namespace {

/// Running maximum and sum of exponentials from one pass over the rows, then one pointwise operator (Inductor's
/// "prepare_softmax_online").
void softmax(ProgramBuilder& b) {
  const std::uint32_t x = b.operand(0);
  const Dims shape = b.value(x).shape;
  const std::uint32_t mask = mask_of({b.arguments().integer_or(1, -1)}, shape.rank);
  const std::uint32_t first = b.reduce({x}, mask, DType::float32, 2);
  b.last().flops = static_cast<float>(kOnlineSoftmaxFlops);
  b.bind(0, b.pointwise({x, first, first + 1}, shape, b.node().outputs[0].dtype, 3));
}

void softmax_backward(ProgramBuilder& b) {
  const std::uint32_t gradient = b.operand(0), output = b.operand(1);
  const Dims shape = b.value(output).shape;
  const std::uint32_t mask = mask_of({b.arguments().integer_or(2, -1)}, shape.rank);
  const DType f = b.value(gradient).dtype;
  if (b.name() == "_log_softmax_backward_data") {  // gradient - exp(output) * sum(gradient)
    const std::uint32_t sum = b.reduce({gradient}, mask, f);
    b.bind(0, b.pointwise({gradient, output, sum}, shape, b.node().outputs[0].dtype, 3));
    b.last().flops = static_cast<float>(kLogSoftmaxGradientFlops);
    return;
  }
  const std::uint32_t product = b.pointwise({gradient, output}, shape, f, 1);
  const std::uint32_t sum = b.reduce({product}, mask, f);
  b.bind(0, b.pointwise({product, output, sum}, shape, b.node().outputs[0].dtype, 2));
}

/// The picked log-probabilities, their sum and the number of counted rows; the mean where it is asked for.
void nll_loss(ProgramBuilder& b) {
  const std::uint32_t log_probabilities = b.operand(0), target = b.operand(1);
  const Dims rows = b.value(target).shape;
  const DType f = b.value(log_probabilities).dtype;
  const std::uint32_t all = mask_of({}, rows.rank);
  const std::uint32_t picked = b.add(OpKind::gather, {log_probabilities, target}, rows, f, 4);
  const std::uint32_t sum = b.reduce({picked}, all, f);
  const std::uint32_t counted = b.pointwise({target}, rows, DType::bool_, 1);
  const std::uint32_t count = b.reduce({counted}, all, f);
  const Dims scalar = shape_of(b.node().outputs[0]);
  auto flat = [&](std::uint32_t v) {
    if (b.value(v).shape == scalar) return v;
    const std::uint32_t view = b.add(OpKind::view, {v}, scalar, f, 0);
    b.last().view.kind = ViewKind::reshape;
    return view;
  };
  const std::uint32_t total = b.pointwise({flat(count)}, scalar, f, 1);
  b.bind(1, total);
  b.bind(0, b.pointwise({flat(sum), total}, scalar, f, 1));
}

/// -gradient / total where the column is the row's target, else 0: nothing of the size of the logits is read.
void nll_loss_backward(ProgramBuilder& b) {
  const std::uint32_t gradient = b.operand(0), target = b.operand(2), total = b.operand(6);
  const Dims shape = shape_of(b.node().outputs[0]);
  Dims column = b.value(target).shape;
  column.push_back(1);
  const std::uint32_t place = b.add(OpKind::view, {target}, column, b.value(target).dtype, 0);
  b.last().view.kind = ViewKind::reshape;
  const std::uint32_t scale = b.pointwise({gradient, total}, b.value(gradient).shape, b.value(gradient).dtype, 1);
  b.bind(0, b.pointwise({place, scale}, shape, b.node().outputs[0].dtype, 4));
}

}  // namespace

bool decompose_softmax_or_loss(ProgramBuilder& b) {
  const std::string_view name = b.name();
  if (name == "_softmax" || name == "_log_softmax") softmax(b);
  else if (name == "_softmax_backward_data" || name == "_log_softmax_backward_data") softmax_backward(b);
  else if (name == "nll_loss_forward") nll_loss(b);
  else if (name == "nll_loss_backward" && b.operand(2) != kNone && b.value(b.operand(2)).shape.rank == 1) nll_loss_backward(b);
  else return false;
  return true;
}

}  // namespace sgsim::compile::fuse
