#include <array>

#include <fmt/format.h>

#include "sim/import/onnx/converter.h"

namespace sgsim::import::onnx {
namespace {

ValueRef transposed(Converter& c, const Node& node, ValueRef x) { return c.call(node, "aten.t.default", {{x}}); }

void gemm(Converter& c, const Node& node) {
  ValueRef a = c.required(node, 0), b = c.required(node, 1);
  if (c.type(a).shape.size() > 2) c.fail(node, graph::to_text(c.type(a)), "a matrix");
  if (c.integer(node, "transA", 0) != 0) a = transposed(c, node, a);
  if (c.integer(node, "transB", 0) != 0) b = transposed(c, node, b);
  const double alpha = c.real(node, "alpha", 1.0), beta = c.real(node, "beta", 1.0);
  const auto bias = c.tensor(node, 2);
  std::map<std::string, Argument> factors;
  if (alpha != 1.0) factors["alpha"] = {alpha};
  if (beta != 1.0) factors["beta"] = {beta};
  c.set(node, 0, bias ? c.call(node, "aten.addmm.default", {{*bias}, {a}, {b}}, std::move(factors)) : c.call(node, "aten.mm.default", {{a}, {b}}));
}

void matmul(Converter& c, const Node& node) { c.set(node, 0, c.call(node, "aten.matmul.default", {{c.required(node, 0)}, {c.required(node, 1)}})); }

struct Window {
  Dims kernel, stride, dilation, before, after;
};

/// Padding on both sides of each spatial dimension, by auto_pad or pads.
Window window_of(Converter& c, const Node& node, const Dims& x, Dims kernel) {
  const std::size_t spatial = kernel.size();
  Window w{.kernel = std::move(kernel), .stride = c.integers(node, "strides").value_or(Dims(spatial, 1)), .dilation = c.integers(node, "dilations").value_or(Dims(spatial, 1)),
           .before = Dims(spatial, 0), .after = Dims(spatial, 0)};
  if (x.size() != spatial + 2 || w.stride.size() != spatial || w.dilation.size() != spatial) c.fail(node, fmt::format("{} spatial sizes for {} dimensions", spatial, x.size()), "one for each spatial dimension");
  for (std::size_t i = 0; i < spatial; ++i) {
    if (w.stride[i] < 1 || w.dilation[i] < 1 || w.kernel[i] < 1 || w.kernel[i] > 1 << 20 || w.stride[i] > 1 << 20 || w.dilation[i] > 1 << 20) c.fail(node, "a window of impossible size", "positive sizes");
  }
  const std::string automatic = c.text(node, "auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t out = (x[2 + i] + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[i] + w.dilation[i] * (w.kernel[i] - 1) + 1 - x[2 + i]);
      w.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[i] = total - w.before[i];
    }
  } else if (const auto pads = c.integers(node, "pads")) {
    if (pads->size() != 2 * spatial) c.fail(node, fmt::format("{} pads", pads->size()), fmt::format("{}", 2 * spatial));
    for (std::size_t i = 0; i < spatial; ++i) {
      w.before[i] = (*pads)[i];
      w.after[i] = (*pads)[spatial + i];
      if (w.before[i] < 0 || w.after[i] < 0 || w.before[i] > 1 << 20 || w.after[i] > 1 << 20) c.fail(node, "negative padding", "sizes from 0");
    }
  }
  return w;
}

/// aten pads both sides alike; what is more on one side is padded before.
ValueRef evened(Converter& c, const Node& node, ValueRef x, Window& w) {
  if (w.before == w.after) return x;
  Dims extra;
  for (std::size_t i = w.before.size(); i-- > 0;) {
    const std::int64_t both = std::min(w.before[i], w.after[i]);
    extra.push_back(w.before[i] - both);
    extra.push_back(w.after[i] - both);
    w.before[i] = w.after[i] = both;
  }
  return c.call(node, "aten.constant_pad_nd.default", {{x}, list_argument(extra), {0.0}});
}

void convolution(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0), weight = c.required(node, 1);
  const auto bias = c.tensor(node, 2);
  const Dims shape = c.type(weight).shape;
  if (shape.size() < 3) c.fail(node, graph::to_text(c.type(weight)), "a kernel of at least 3 dimensions");
  Window w = window_of(c, node, c.type(x).shape, Dims(shape.begin() + 2, shape.end()));
  const ValueRef padded = evened(c, node, x, w);
  const Dims zeros(w.kernel.size(), 0);
  c.set(node, 0, c.call(node, "aten.convolution.default", {{padded}, {weight}, bias ? Argument{*bias} : Argument{}, list_argument(w.stride), list_argument(w.before), list_argument(w.dilation), {false}, list_argument(zeros), {c.integer(node, "group", 1)}}));
}

void pool(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  Window w = window_of(c, node, c.type(x).shape, c.integers(node, "kernel_shape").value_or(Dims{}));
  const bool ceil = c.integer(node, "ceil_mode", 0) != 0;
  Dims shape = c.type(x).shape;
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    const std::int64_t reach = shape[2 + i] + w.before[i] + w.after[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (reach < 0) c.fail(node, "a window larger than its input", "a window that fits");
    shape[2 + i] = (ceil ? (reach + w.stride[i] - 1) / w.stride[i] : reach / w.stride[i]) + 1;
  }
  const bool max = node.op == "MaxPool";
  const DType dtype = c.type(x).dtype;
  std::vector<TensorType> types = {graph::contiguous(shape, dtype)};
  if (max) types.push_back(graph::contiguous(shape, DType::int64));
  // Uneven padding stays in the window: pooling pads without moving data.
  const ValueRef result = c.call(node, max ? "aten.max_pool2d_with_indices.default" : "aten.avg_pool2d.default", {{x}, list_argument(w.kernel), list_argument(w.stride), list_argument(w.before)}, {}, std::move(types));
  c.set(node, 0, result);
  if (max) c.set(node, 1, ValueRef{.node = result.node, .output = 1});
}

void global_pool(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  Dims axes;
  for (std::size_t i = 2; i < c.type(x).shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  c.set(node, 0, c.call(node, node.op == "GlobalMaxPool" ? "aten.amax.default" : "aten.mean.dim", {{x}, list_argument(axes), {true}}));
}

void batch_norm(Converter& c, const Node& node) {
  const bool training = c.integer(node, "training_mode", 0) != 0;
  const ValueRef result = c.call(node, "aten.native_batch_norm.default", {{c.required(node, 0)}, {c.required(node, 1)}, {c.required(node, 2)}, {c.required(node, 3)}, {c.required(node, 4)}, {training}, {1.0 - c.real(node, "momentum", 0.9)}, {c.real(node, "epsilon", 1e-5)}});
  c.set(node, 0, result);
  // Running statistics are updated in place: the same buffers.
  for (std::size_t output : {1, 2}) {
    if (output < node.outputs.size()) c.set(node, output, c.required(node, output + 2));
  }
}

void layer_norm(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0), weight = c.required(node, 1);
  const auto bias = c.tensor(node, 2);
  const Dims shape = c.type(x).shape;
  const std::size_t axis = c.axis(node, c.integer(node, "axis", -1), shape.size());
  const Dims normalized(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  const Argument epsilon{c.real(node, "epsilon", 1e-5)};
  if (node.op == "RMSNormalization" || node.op == "SimplifiedLayerNormalization") {
    c.set(node, 0, c.call(node, "aten._fused_rms_norm.default", {{x}, list_argument(normalized), {weight}, epsilon}));
    return;
  }
  const ValueRef result = c.call(node, "aten.native_layer_norm.default", {{x}, list_argument(normalized), {weight}, bias ? Argument{*bias} : Argument{}, epsilon});
  for (std::uint32_t i = 0; i < 3; ++i) c.set(node, i, ValueRef{.node = result.node, .output = i});
}

/// [batch, length, heads * size] as [batch, heads, length, size].
ValueRef by_heads(Converter& c, const Node& node, ValueRef x, std::int64_t heads) {
  const Dims shape = c.type(x).shape;
  if (shape.size() == 4) return x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) c.fail(node, graph::to_text(c.type(x)), "[batch, heads, length, size], or 3 dimensions and a number of heads");
  return c.call(node, "aten.transpose.int", {{c.reshape(node, x, {shape[0], shape[1], heads, shape[2] / heads})}, {std::int64_t{1}}, {std::int64_t{2}}});
}

void attention(Converter& c, const Node& node) {
  const ValueRef query = c.required(node, 0);
  const bool flat = c.type(query).shape.size() == 3;
  const std::int64_t heads = c.integer(node, "q_num_heads", 0), kv_heads = c.integer(node, "kv_num_heads", heads);
  if (c.tensor(node, 4) || c.tensor(node, 5)) c.fail(node, "past keys and values", "attention over its own keys");
  const ValueRef q = by_heads(c, node, query, heads), k = by_heads(c, node, c.required(node, 1), kv_heads), v = by_heads(c, node, c.required(node, 2), kv_heads);
  const auto mask = c.tensor(node, 3);
  const bool causal = c.integer(node, "is_causal", 0) != 0;
  const std::vector<Argument> args = mask ? std::vector<Argument>{{q}, {k}, {v}, {*mask}, {false}, {0.0}, {causal}} : std::vector<Argument>{{q}, {k}, {v}, {0.0}, {causal}};
  ValueRef result = c.call(node, mask ? "aten._scaled_dot_product_efficient_attention.default" : "aten._scaled_dot_product_flash_attention.default", args);
  if (flat) {
    const Dims shape = c.type(result).shape;
    result = c.reshape(node, c.call(node, "aten.transpose.int", {{result}, {std::int64_t{1}}, {std::int64_t{2}}}), {shape[0], shape[2], shape[1] * shape[3]});
  }
  c.set(node, 0, result);
}

}  // namespace

const std::map<std::string_view, Handler>& product_handlers() {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"Gemm", gemm}, {"MatMul", matmul}, {"Conv", convolution}, {"MaxPool", pool}, {"AveragePool", pool}, {"GlobalAveragePool", global_pool}, {"GlobalMaxPool", global_pool},
      {"BatchNormalization", batch_norm}, {"LayerNormalization", layer_norm}, {"RMSNormalization", layer_norm}, {"SimplifiedLayerNormalization", layer_norm}, {"Attention", attention}};
  return kHandlers;
}

}  // namespace sgsim::import::onnx
