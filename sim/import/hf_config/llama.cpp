#include <fmt/format.h>

#include "sim/import/hf_config/families.h"

namespace sgsim::import::hf {
namespace {

struct LayerWeights {
  Affine q, k, v, o, gate, up, down;
  std::optional<Experts> experts;
  ValueRef input_norm, post_norm;
};

struct Rotary {
  ValueRef cos, sin;  // [1, sequence, head size]
};

std::string layer_path(std::int64_t index) { return fmt::format("model.layers.{}", index); }

LayerWeights declare_layer(Sources& sources, const Config& c, std::int64_t index) {
  const std::string path = layer_path(index), attention = path + ".self_attn.", mlp = path + ".mlp.";
  const std::int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const auto bias = [&c](std::int64_t size) { return c.attention_bias ? size : 0; };
  LayerWeights w;
  w.input_norm = sources.parameter(path + ".input_layernorm.weight", {c.hidden});
  w.q = sources.projection(attention + "q_proj", {q, c.hidden}, bias(q));
  w.k = sources.projection(attention + "k_proj", {kv, c.hidden}, bias(kv));
  w.v = sources.projection(attention + "v_proj", {kv, c.hidden}, bias(kv));
  w.o = sources.projection(attention + "o_proj", {c.hidden, q}, bias(c.hidden));
  w.post_norm = sources.parameter(path + ".post_attention_layernorm.weight", {c.hidden});
  if (c.experts > 0) {
    w.experts = declare_experts(sources, c, path + ".block_sparse_moe");
    return w;
  }
  w.gate = sources.projection(mlp + "gate_proj", {c.ffn, c.hidden}, c.mlp_bias ? c.ffn : 0);
  w.up = sources.projection(mlp + "up_proj", {c.ffn, c.hidden}, c.mlp_bias ? c.ffn : 0);
  w.down = sources.projection(mlp + "down_proj", {c.hidden, c.ffn}, c.mlp_bias ? c.hidden : 0);
  return w;
}

/// Angles of all positions as one outer product in float32, as LlamaRotaryEmbedding does.
Rotary rotary_embedding(Model& model, ValueRef inverse_frequencies, DType dtype) {
  Tape& tape = model.tape;
  tape.enter("model", "LlamaModel");
  const std::int64_t s = model.options.sequence, half = model.config.head_dim / 2;
  const ValueRef positions = tape.call("aten.unsqueeze.default", tape.call("aten.arange.default", s), 0);
  tape.enter("model.rotary_emb", "LlamaRotaryEmbedding");
  const ValueRef frequencies = tape.call("aten.view.default", inverse_frequencies, Dims{1, half, 1});
  const ValueRef wide = tape.call_with({{"dtype", text_of(DType::float32)}}, "aten._to_copy.default",
                                       tape.call("aten.view.default", positions, Dims{1, 1, s}));
  const ValueRef angles = transpose(tape, bmm(tape, frequencies, wide), 1, 2);
  const ValueRef both = cat(tape, angles, angles, -1);
  const auto finished = [&](std::string_view function) {
    return cast(tape, mul(tape, tape.call(function, both), 1.0), dtype);
  };
  return {finished("aten.cos.default"), finished("aten.sin.default")};
}

/// x cos + rotate_half(x) sin over [batch, heads, length, size].
ValueRef rotate(Tape& tape, ValueRef x, ValueRef cos, ValueRef sin) {
  const std::int64_t size = tape.shape(x)[3];
  const ValueRef straight = mul(tape, x, cos);
  const ValueRef first = slice(tape, x, 3, 0, size / 2), second = slice(tape, x, 3, size / 2, size);
  const ValueRef crossed = mul(tape, cat(tape, neg(tape, second), first, -1), sin);
  return add(tape, straight, crossed);
}

ValueRef split_heads(Tape& tape, const std::string& path, ValueRef x, std::int64_t heads) {
  tape.enter(path, "LlamaAttention");
  const Dims shape = tape.shape(x);
  return transpose(tape, view(tape, x, {shape[0], shape[1], heads, shape[2] / heads}), 1, 2);
}

ValueRef attention(Model& model, const std::string& path, ValueRef x, const LayerWeights& w, const Rotary& rotary,
                   std::optional<ValueRef> mask) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  ValueRef q = split_heads(tape, path, linear(model, path + ".q_proj", x, w.q), c.heads);
  ValueRef k = split_heads(tape, path, linear(model, path + ".k_proj", x, w.k), c.kv_heads);
  const ValueRef v = split_heads(tape, path, linear(model, path + ".v_proj", x, w.v), c.kv_heads);
  const ValueRef cos = unsqueeze(tape, rotary.cos, 1), sin = unsqueeze(tape, rotary.sin, 1);
  q = rotate(tape, q, cos, sin);
  k = rotate(tape, k, cos, sin);
  return linear(model, path + ".o_proj", attend(model, q, k, v, mask, true), w.o);
}

ValueRef mlp(Model& model, const std::string& path, ValueRef x, const LayerWeights& w) {
  const ValueRef gate = activate(model, path + ".act_fn", linear(model, path + ".gate_proj", x, w.gate));
  const ValueRef up = linear(model, path + ".up_proj", x, w.up);
  model.tape.enter(path, "LlamaMLP");
  return linear(model, path + ".down_proj", mul(model.tape, gate, up), w.down);
}

ValueRef decoder_layer(Model& model, const std::string& path, ValueRef x, const LayerWeights& w, const Rotary& rotary,
                       std::optional<ValueRef> mask) {
  Tape& tape = model.tape;
  const ValueRef normed = rms_norm(model, path + ".input_layernorm", "LlamaRMSNorm", x, w.input_norm);
  const ValueRef attended = attention(model, path + ".self_attn", normed, w, rotary, mask);
  tape.enter(path, "LlamaDecoderLayer");
  const ValueRef middle = add(tape, x, attended);
  const ValueRef again = rms_norm(model, path + ".post_attention_layernorm", "LlamaRMSNorm", middle, w.post_norm);
  const ValueRef out = w.experts ? mixture_of_experts(model, path + ".block_sparse_moe", again, *w.experts)
                                 : mlp(model, path + ".mlp", again, w);
  tape.enter(path, "LlamaDecoderLayer");
  return add(tape, middle, out);
}

}  // namespace

ValueRef build_llama(Model& model) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  const GenerateOptions& options = model.options;
  Sources sources(tape, options);
  const ValueRef ids = sources.input("input_ids", {options.micro_batch, options.sequence});
  const ValueRef labels = sources.input("labels", {options.micro_batch, options.sequence});
  const ValueRef frequencies = sources.buffer("model.rotary_emb.inv_freq", {c.head_dim / 2}, DType::float32);
  const ValueRef embed = sources.parameter("model.embed_tokens.weight", {c.vocab, c.hidden});
  std::vector<LayerWeights> layers;
  for (std::int64_t i = 0; i < c.layers; ++i) layers.push_back(declare_layer(sources, c, i));
  sources.check_targets();
  const ValueRef norm = sources.parameter("model.norm.weight", {c.hidden});
  Affine head;
  head.weight = c.tied_embeddings ? embed : sources.parameter("lm_head.weight", {c.vocab, c.hidden});

  tape.enter("model.embed_tokens", "Embedding");
  ValueRef x = embedding(tape, embed, ids);
  tape.enter("model", "LlamaModel");
  std::optional<ValueRef> mask;
  if (!options.flash_attention) mask = hidden_mask(model);
  if (options.flash_attention && options.causal_mask_tensor) mask = visible_mask(model);
  const Rotary rotary = rotary_embedding(model, frequencies, tape.dtype(x));
  for (std::int64_t i = 0; i < c.layers; ++i) {
    x = decoder_layer(model, layer_path(i), x, layers[static_cast<std::size_t>(i)], rotary, mask);
  }
  x = rms_norm(model, "model.norm", "LlamaRMSNorm", x, norm);
  const ValueRef logits = linear(model, "lm_head", x, head);
  tape.enter("", "LlamaForCausalLM");
  return cross_entropy(model, logits, labels, true);
}

}  // namespace sgsim::import::hf
