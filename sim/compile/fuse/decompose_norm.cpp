#include "sim/compile/arithmetic.h"
#include <string_view>

#include "sim/compile/fuse/program_builder.h"

namespace sgsim::compile::fuse {

using graph::DType;

namespace {

/// The last dimensions of a normalised shape.
std::uint32_t inner_mask(const Dims& shape, std::size_t normalised) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < normalised && i < shape.rank; ++i) mask |= 1U << (shape.rank - 1 - i);
  return mask;
}

std::uint32_t outer_mask(const Dims& shape, std::size_t normalised) { return ((1U << shape.rank) - 1U) & ~inner_mask(shape, normalised); }

std::size_t normalised_rank(const ProgramBuilder& b, std::size_t position) {
  return b.arguments().integers(position).value_or(std::vector<std::int64_t>{0}).size();
}

/// A value seen with another shape of as many elements.
std::uint32_t reshaped(ProgramBuilder& b, std::uint32_t value, const Dims& shape) {
  if (b.value(value).shape == shape) return value;
  const DType dtype = b.value(value).dtype;
  const std::uint32_t view = b.add(OpKind::view, {value}, shape, dtype, 0);
  b.last().view.kind = ViewKind::reshape;
  return view;
}

void bind_reshaped(ProgramBuilder& b, std::uint32_t output, std::uint32_t value) {
  if (output < b.node().outputs.size()) b.bind(output, reshaped(b, value, shape_of(b.node().outputs[output])));
}

/// y = (x - mean) * rstd * weight + bias; mean and variance in one pass (Welford).
void layer_norm(ProgramBuilder& b) {
  const std::uint32_t x = b.operand(0), weight = b.operand(2), bias = b.operand(3);
  const Dims shape = b.value(x).shape;
  const DType statistics = b.node().outputs.size() > 1 ? b.node().outputs[1].dtype : DType::float32;
  const std::uint32_t first = b.reduce({x}, inner_mask(shape, normalised_rank(b, 1)), statistics, 2);
  const std::uint32_t rstd = b.pointwise({first + 1}, b.value(first + 1).shape, statistics, 3);
  b.bind(0, b.pointwise({x, first, rstd, weight, bias}, shape, b.node().outputs[0].dtype, 4));
  bind_reshaped(b, 1, first);
  bind_reshaped(b, 2, rstd);
}

/// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = dy * weight; dweight = sum(dy * xhat), dbias = sum(dy).
void layer_norm_backward(ProgramBuilder& b) {
  const std::uint32_t dy = b.operand(0), x = b.operand(1), mean = b.operand(3), rstd = b.operand(4), weight = b.operand(5);
  const Dims shape = b.value(x).shape;
  const std::size_t inner = normalised_rank(b, 2);
  const DType f = b.value(mean).dtype;
  const std::uint32_t xhat = b.pointwise({x, mean, rstd}, shape, f, 2);
  const std::uint32_t g = weight == kNone ? dy : b.pointwise({dy, weight}, shape, f, 1);
  const std::uint32_t sum_g = b.reduce({g}, inner_mask(shape, inner), f);
  const std::uint32_t gx = b.pointwise({g, xhat}, shape, f, 1);
  const std::uint32_t sum_gx = b.reduce({gx}, inner_mask(shape, inner), f);
  b.bind(0, b.pointwise({g, sum_g, xhat, sum_gx, rstd}, shape, b.node().outputs[0].dtype, 6));
  const std::uint32_t outer = outer_mask(shape, inner);
  if (b.node().outputs.size() > 1 && weight != kNone) {
    const std::uint32_t product = b.pointwise({dy, xhat}, shape, f, 1);
    bind_reshaped(b, 1, b.reduce({product}, outer, b.node().outputs[1].dtype));
  }
  if (b.node().outputs.size() > 2 && b.node().outputs[2].elements() > 0) bind_reshaped(b, 2, b.reduce({dy}, outer, b.node().outputs[2].dtype));
}

/// y = x * rsqrt(mean(x^2) + eps) * weight.
void rms_norm(ProgramBuilder& b) {
  const std::uint32_t x = b.operand(0), weight = b.operand(2);
  const Dims shape = b.value(x).shape;
  const DType f = b.node().outputs.size() > 1 ? b.node().outputs[1].dtype : DType::float32;
  const std::uint32_t square = b.pointwise({x}, shape, f, 1);
  const std::uint32_t mean = b.reduce({square}, inner_mask(shape, normalised_rank(b, 1)), f);
  const std::uint32_t rstd = b.pointwise({mean}, b.value(mean).shape, f, 2);
  b.bind(0, b.pointwise({x, rstd, weight}, shape, b.node().outputs[0].dtype, 2));
  bind_reshaped(b, 1, rstd);
}

void rms_norm_backward(ProgramBuilder& b) {
  const std::uint32_t dy = b.operand(0), x = b.operand(1), rstd = b.operand(3), weight = b.operand(4);
  const Dims shape = b.value(x).shape;
  const std::size_t inner = normalised_rank(b, 2);
  const DType f = b.value(rstd).dtype;
  const std::uint32_t xhat = b.pointwise({x, rstd}, shape, f, 1);
  const std::uint32_t g = weight == kNone ? dy : b.pointwise({dy, weight}, shape, f, 1);
  const std::uint32_t gx = b.pointwise({g, xhat}, shape, f, 1);
  const std::uint32_t sum = b.reduce({gx}, inner_mask(shape, inner), f);
  b.bind(0, b.pointwise({g, xhat, sum, rstd}, shape, b.node().outputs[0].dtype, 4));
  if (b.node().outputs.size() > 1 && weight != kNone) {
    const std::uint32_t product = b.pointwise({dy, xhat}, shape, f, 1);
    bind_reshaped(b, 1, b.reduce({product}, outer_mask(shape, inner), b.node().outputs[1].dtype));
  }
}

std::uint32_t all_but_channels(const Dims& shape) { return ((1U << shape.rank) - 1U) & ~2U; }

Dims channel_shape(const Dims& shape) {
  Dims channels = shape;
  for (std::uint32_t d = 0; d < channels.rank; ++d) {
    if (d != 1) channels[d] = 1;
  }
  return channels;
}

/// Training batch norm: statistics over all but the channels; running mean and variance move on.
void batch_norm(ProgramBuilder& b) {
  const std::uint32_t x = b.operand(0);
  const Dims shape = b.value(x).shape, channels = channel_shape(shape);
  auto per_channel = [&](std::size_t position) {
    const std::uint32_t v = b.operand(position);
    return v == kNone ? kNone : reshaped(b, v, channels);
  };
  const std::uint32_t weight = per_channel(1), bias = per_channel(2), old_mean = b.operand(3), old_variance = b.operand(4);
  const DType f = b.node().outputs.size() > 1 ? b.node().outputs[1].dtype : DType::float32;
  const std::uint32_t mean = b.reduce({x}, all_but_channels(shape), f, 2);
  b.last().flops = static_cast<float>(kBatchStatisticsFlops);
  const std::uint32_t rstd = b.pointwise({mean + 1}, channels, f, 3);
  b.bind(0, b.pointwise({x, mean, rstd, weight, bias}, shape, b.node().outputs[0].dtype, 4));
  bind_reshaped(b, 1, mean);
  bind_reshaped(b, 2, rstd);
  auto running = [&](std::uint32_t output, std::uint32_t statistic, std::uint32_t old) {
    if (output >= b.node().outputs.size() || old == kNone) return;
    const Dims flat = b.value(old).shape;
    b.bind(output, b.pointwise({reshaped(b, statistic, flat), old}, flat, f, 3));
  };
  running(3, mean, old_mean);
  running(4, mean + 1, old_variance);
}

/// dx = (dy - mean(dy) - xhat * mean(dy * xhat)) * rstd * weight; dweight = sum(dy * xhat), dbias = sum(dy).
void batch_norm_backward(ProgramBuilder& b) {
  const std::uint32_t dy = b.operand(0), x = b.operand(1);
  const Dims shape = b.value(x).shape, channels = channel_shape(shape);
  const std::uint32_t weight = b.operand(2) == kNone ? kNone : reshaped(b, b.operand(2), channels);
  const std::uint32_t saved_mean = b.operand(5), saved_rstd = b.operand(6);
  if (saved_mean == kNone || saved_rstd == kNone) return b.whole(OpKind::opaque, b.operands());
  const std::uint32_t mean = reshaped(b, saved_mean, channels), rstd = reshaped(b, saved_rstd, channels);
  const DType f = b.value(mean).dtype;
  const std::uint32_t sum_dy = b.reduce({dy}, all_but_channels(shape), f);
  b.last().flops = static_cast<float>(kBatchGradientFlops);
  const std::uint32_t centred = b.pointwise({x, mean}, shape, f, 1);
  const std::uint32_t product = b.pointwise({dy, centred}, shape, f, 1);
  const std::uint32_t sum_product = b.reduce({product}, all_but_channels(shape), f);
  b.last().flops = static_cast<float>(kBatchGradientFlops);
  b.bind(0, b.pointwise({dy, centred, sum_product, sum_dy, rstd, weight}, shape, b.node().outputs[0].dtype, 7));
  bind_reshaped(b, 1, b.pointwise({sum_product, rstd}, channels, f, 1));
  bind_reshaped(b, 2, sum_dy);
}

}  // namespace

bool decompose_norm(ProgramBuilder& b) {
  const std::string_view name = b.name();
  if (name == "native_layer_norm") layer_norm(b);
  else if (name == "native_layer_norm_backward") layer_norm_backward(b);
  else if (name == "_fused_rms_norm") rms_norm(b);
  else if (name == "_fused_rms_norm_backward") rms_norm_backward(b);
  else if (name == "native_batch_norm_backward") batch_norm_backward(b);
  else if (name == "native_batch_norm" || name == "_native_batch_norm_legit" || name == "_native_batch_norm_legit_functional") batch_norm(b);
  else return false;
  return true;
}

}  // namespace sgsim::compile::fuse
