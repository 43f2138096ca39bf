#include "sim/import/hf_config/layers.h"

namespace sgsim::import::hf {
namespace {

/// [batch, kv heads, length, size] -> [batch, heads, length, size], each head copied `times` (Hugging Face's repeat_kv).
ValueRef repeat_heads(Tape& tape, ValueRef x, std::int64_t times) {
  if (times == 1) return x;
  const Dims shape = tape.shape(x);
  const ValueRef wide = expand(tape, unsqueeze(tape, x, 2), {shape[0], shape[1], times, shape[2], shape[3]});
  return unsafe_view(tape, contiguous_clone(tape, wide), {shape[0], shape[1] * times, shape[2], shape[3]});
}

/// The additive mask that scaled_dot_product_attention makes of a boolean one.
ValueRef additive_mask(Tape& tape, ValueRef visible, DType dtype) {
  const Keywords keywords = {{"dtype", text_of(dtype)}};
  constexpr double kLowestHalf = -65504.0;  // what PyTorch masks with: the lowest float16
  const ValueRef low = tape.call_with(keywords, "aten.scalar_tensor.default", kLowestHalf);
  const ValueRef zero = tape.call_with(keywords, "aten.scalar_tensor.default", 0.0);
  return tape.call("aten.where.self", visible, zero, low);
}

ValueRef merged_heads(Tape& tape, ValueRef x) {
  const ValueRef by_token = transpose(tape, x, 1, 2);
  const Dims shape = tape.shape(by_token);
  return reshape(tape, by_token, {shape[0], shape[1], shape[2] * shape[3]});
}

/// Batched products with scale, mask, softmax and dropout between them, as Megatron-LM before flash attention: softmax in
/// the compute type, reshapes free (it keeps the sequence dimension first).
ValueRef unfused(Tape& tape, ValueRef q, ValueRef k, ValueRef v, std::optional<ValueRef> hidden, double dropout_rate) {
  const Dims shape = tape.shape(q), value_shape = tape.shape(v);
  const auto batched = [&tape](ValueRef x) {
    const Dims s = tape.shape(x);
    return view(tape, x, {s[0] * s[1], s[2], s[3]});
  };
  const ValueRef q3 = batched(q), k3 = batched(k), v3 = batched(v);
  const ValueRef products = bmm(tape, q3, transpose(tape, k3, 1, 2));
  ValueRef scores = mul(tape, products, 1.0 / __builtin_sqrt(static_cast<double>(shape[3])));
  constexpr double kMasked = -10000.0;  // Megatron-LM's value for hidden scores
  if (hidden) scores = masked_fill(tape, scores, *hidden, kMasked);
  ValueRef weights = softmax(tape, scores);
  if (dropout_rate > 0.0) weights = dropout(tape, weights, dropout_rate);
  const ValueRef y = bmm(tape, weights, v3);
  return merged_heads(tape, view(tape, y, {shape[0], shape[1], shape[2], value_shape[3]}));
}

}  // namespace

ValueRef attend(Model& model, ValueRef q, ValueRef k, ValueRef v, std::optional<ValueRef> mask, bool causal) {
  Tape& tape = model.tape;
  const DType compute = model.options.dtype;
  const bool fused = model.options.flash_attention;
  if (!fused || mask || model.options.repeated_heads) {
    const std::int64_t times = tape.shape(q)[1] / tape.shape(k)[1];
    k = repeat_heads(tape, k, times);
    v = repeat_heads(tape, v, times);
  }
  v = cast(tape, v, compute);
  k = cast(tape, k, compute);
  q = cast(tape, q, compute);
  if (!fused) return unfused(tape, q, k, v, mask, model.config.attention_dropout);
  std::optional<ValueRef> additive;
  if (mask) additive = additive_mask(tape, *mask, compute);
  return merged_heads(tape, fused_attention(tape, q, k, v, additive, causal, model.config.attention_dropout));
}

}  // namespace sgsim::import::hf
