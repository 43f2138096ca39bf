#include "sim/import/hf_config/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace sgsim::import::hf {
namespace {

constexpr const char* kAllLinear = "all-linear";  // as PEFT calls it

/// Rows of a matrix: all dimensions but the last together.
ValueRef as_matrix(Tape& tape, ValueRef x) {
  const TensorType& type = tape.type(x);
  if (type.shape.size() == 2) return x;
  const std::int64_t width = type.shape.back();
  return view(tape, x, {type.elements() / width, width});
}

Dims with_width(Dims shape, std::int64_t width) {
  shape.back() = width;
  return shape;
}

ValueRef gelu_new(Tape& tape, ValueRef x, bool autocast) {  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  const ValueRef half = mul(tape, x, 0.5);
  const ValueRef base = autocast ? cast(tape, x, DType::float32) : x;  // autocast runs pow in float32
  const ValueRef cubic = mul(tape, pow(tape, base, 3.0), 0.044715);
  const ValueRef inner = mul(tape, add(tape, x, cubic), 0.7978845608028654);
  return mul(tape, half, add(tape, tanh(tape, inner), 1.0));
}

/// The layer's result and the adapter's, which reads the layer's input: y + B(A(dropout(x))) * alpha / rank.
ValueRef adapted(Model& model, const std::string& path, ValueRef x, const Affine& affine, ValueRef y) {
  if (!affine.adapter) return y;
  Tape& tape = model.tape;
  if (model.options.adapters.dropout > 0.0) x = drop(model, path + ".lora_dropout", x, model.options.adapters.dropout);
  const ValueRef narrow = linear(model, path + ".lora_A", x, {.weight = affine.adapter->a, .bias = std::nullopt, .adapter = std::nullopt});
  const ValueRef wide = linear(model, path + ".lora_B", narrow, {.weight = affine.adapter->b, .bias = std::nullopt, .adapter = std::nullopt});
  tape.enter(path, "lora.Linear");
  constexpr double kScale = 2.0;  // alpha / rank; its value changes no time
  return add(tape, y, mul(tape, wide, kScale));
}

}  // namespace

Sources::Sources(Tape& tape, const GenerateOptions& options)
    : tape_(tape), dtype_(options.autocast ? DType::float32 : options.dtype), adapters_(options.adapters) {}

ValueRef Sources::parameter(const std::string& name, Dims shape) {
  return tape_.source(graph::NodeKind::parameter, name, std::move(shape), dtype_, adapters_.rank == 0);
}

Affine Sources::affine(const std::string& module, Dims weight_shape, std::int64_t bias_size) {
  Affine affine;
  affine.weight = parameter(module + ".weight", std::move(weight_shape));
  if (bias_size > 0) affine.bias = parameter(module + ".bias", {bias_size});
  return affine;
}

bool Sources::has_adapter(const std::string& module) {
  if (adapters_.rank == 0) return false;
  const std::string last = module.substr(module.rfind('.') + 1);
  names_.insert(last);
  return std::ranges::any_of(adapters_.targets, [&](const std::string& target) { return target == last || target == kAllLinear; });
}

Affine Sources::projection(const std::string& module, Dims weight_shape, std::int64_t bias_size, bool transposed) {
  const std::int64_t in = weight_shape[transposed ? 0 : 1], out = weight_shape[transposed ? 1 : 0];
  Affine affine = this->affine(module, std::move(weight_shape), bias_size);
  if (!has_adapter(module)) return affine;
  const auto trained = [&](const char* name, Dims shape) {
    return tape_.source(graph::NodeKind::parameter, module + name, std::move(shape), dtype_, true);
  };
  affine.adapter = Adapter{.a = trained(".lora_A.weight", {adapters_.rank, in}), .b = trained(".lora_B.weight", {out, adapters_.rank})};
  return affine;
}

void Sources::check_targets() const {
  for (const std::string& target : adapters_.targets) {
    if (adapters_.rank == 0 || target == kAllLinear || names_.contains(target)) continue;
    throw InputError({.file = "", .where = "$.model.lora.targets", .found = "\"" + target + "\"",
                      .expected = fmt::format("the last part of the name of a linear layer: {}, or {}", fmt::join(names_, ", "), kAllLinear), .hint = ""});
  }
}

ValueRef Sources::buffer(const std::string& name, Dims shape, DType dtype) {
  return tape_.source(graph::NodeKind::buffer, name, std::move(shape), dtype);
}

ValueRef Sources::input(const std::string& name, Dims shape) {
  return tape_.source(graph::NodeKind::input, name, std::move(shape), DType::int64);
}

ValueRef linear(Model& model, const std::string& path, ValueRef x, const Affine& affine) {
  Tape& tape = model.tape;
  const DType compute = model.options.dtype;
  tape.enter(path, "Linear");
  const Dims shape = with_width(tape.shape(x), tape.shape(affine.weight)[0]);
  if (affine.bias) {
    const ValueRef bias = cast(tape, *affine.bias, compute), weight = cast(tape, affine.weight, compute);
    const ValueRef rows = as_matrix(tape, cast(tape, x, compute));
    const ValueRef y = addmm(tape, bias, rows, t(tape, weight));
    return adapted(model, path, x, affine, shape.size() == 2 ? y : view(tape, y, shape));
  }
  const ValueRef weight = cast(tape, affine.weight, compute), narrow = cast(tape, x, compute);
  const ValueRef transposed = t(tape, weight);
  const ValueRef y = mm(tape, as_matrix(tape, narrow), transposed);
  return adapted(model, path, x, affine, shape.size() == 2 ? y : unsafe_view(tape, y, shape));
}

ValueRef conv1d(Model& model, const std::string& path, ValueRef x, const Affine& affine) {
  Tape& tape = model.tape;
  const DType compute = model.options.dtype;
  tape.enter(path, "Conv1D");
  const Dims shape = with_width(tape.shape(x), tape.shape(affine.weight)[1]);
  const ValueRef rows = as_matrix(tape, x);
  const ValueRef weight = cast(tape, affine.weight, compute);
  const ValueRef narrow = cast(tape, rows, compute);
  const ValueRef bias = cast(tape, *affine.bias, compute);
  return adapted(model, path, x, affine, view(tape, addmm(tape, bias, narrow, weight), shape));
}

ValueRef rms_norm(Model& model, const std::string& path, std::string_view type, ValueRef x, ValueRef weight) {
  Tape& tape = model.tape;
  tape.enter(path, type);
  const DType given = tape.dtype(x);
  const ValueRef wide = cast(tape, x, DType::float32);
  const ValueRef scale = rsqrt(tape, add(tape, mean_last(tape, pow(tape, wide, 2)), model.config.norm_eps));
  return mul(tape, weight, cast(tape, mul(tape, wide, scale), given));
}

ValueRef layer_norm(Model& model, const std::string& path, ValueRef x, const Affine& affine) {
  Tape& tape = model.tape;
  tape.enter(path, "LayerNorm");
  const ValueRef wide = model.options.autocast ? cast(tape, x, DType::float32) : x;
  return native_layer_norm(tape, wide, affine.weight, *affine.bias, model.config.norm_eps);
}

ValueRef activate(Model& model, const std::string& path, ValueRef x) {
  Tape& tape = model.tape;
  const std::string& name = model.config.activation;
  tape.enter(path, name);
  if (name == "silu") return silu(tape, x);
  if (name == "relu") return relu(tape, x);
  if (name == "gelu_new") return gelu_new(tape, x, model.options.autocast);
  return gelu(tape, x, name == "gelu_pytorch_tanh");
}

ValueRef drop(Model& model, const std::string& path, ValueRef x, double p) {
  model.tape.enter(path, "Dropout");
  return dropout(model.tape, x, p);
}

ValueRef visible_mask(Model& model) {
  Tape& tape = model.tape;
  const std::int64_t s = model.options.sequence;
  const ValueRef keys = tape.call("aten.view.default", tape.call("aten.arange.default", s), Dims{1, 1, 1, s});
  const ValueRef queries = tape.call("aten.view.default", tape.call("aten.arange.default", s), Dims{1, 1, s, 1});
  const ValueRef seen = tape.call("aten.le.Tensor", keys, queries);
  return tape.call("aten.expand.default", seen, Dims{model.options.micro_batch, 1, s, s});
}

ValueRef hidden_mask(Model& model) {
  Tape& tape = model.tape;
  const std::int64_t s = model.options.sequence;
  const ValueRef keys = tape.call("aten.view.default", tape.call("aten.arange.default", s), Dims{1, 1, s});
  const ValueRef queries = tape.call("aten.view.default", tape.call("aten.arange.default", s), Dims{1, s, 1});
  return tape.call("aten.gt.Tensor", keys, queries);
}

ValueRef cross_entropy(Model& model, ValueRef logits, ValueRef labels, bool shift) {
  Tape& tape = model.tape;
  constexpr int kIgnored = -100;  // label that the loss leaves out
  const bool wide = shift || model.options.autocast;  // causal models cast their logits, autocast casts the loss
  ValueRef scores = wide ? cast(tape, logits, DType::float32) : logits;
  ValueRef targets = labels;
  if (shift) {
    const ValueRef padded = tape.call("aten.constant_pad_nd.default", labels, Dims{0, 1}, double{kIgnored});
    targets = tape.call("aten.slice.Tensor", padded, 1, 1, std::numeric_limits<std::int64_t>::max());
  }
  scores = as_matrix(tape, scores);
  targets = tape.call("aten.view.default", targets, Dims{-1});
  return nll_loss(tape, log_softmax(tape, scores), targets);
}

}  // namespace sgsim::import::hf
