#include <fmt/format.h>

#include "sim/import/hf_config/families.h"

namespace sgsim::import::hf {
namespace {

struct BlockWeights {
  Affine ln_1, c_attn, attn_proj, ln_2, c_fc, mlp_proj;
};

std::string block_path(std::int64_t index) { return fmt::format("transformer.h.{}", index); }

BlockWeights declare_block(Sources& sources, const Config& c, std::int64_t index) {
  const std::string path = block_path(index);
  BlockWeights w;
  w.ln_1 = sources.affine(path + ".ln_1", {c.hidden}, c.hidden);
  w.c_attn = sources.projection(path + ".attn.c_attn", {c.hidden, 3 * c.hidden}, 3 * c.hidden, true);
  w.attn_proj = sources.projection(path + ".attn.c_proj", {c.hidden, c.hidden}, c.hidden, true);
  w.ln_2 = sources.affine(path + ".ln_2", {c.hidden}, c.hidden);
  w.c_fc = sources.projection(path + ".mlp.c_fc", {c.hidden, c.ffn}, c.ffn, true);
  w.mlp_proj = sources.projection(path + ".mlp.c_proj", {c.ffn, c.hidden}, c.hidden, true);
  return w;
}

ValueRef heads_of(Model& model, ValueRef x) {
  const Dims shape = model.tape.shape(x);
  const Config& c = model.config;
  return transpose(model.tape, view(model.tape, x, {shape[0], shape[1], c.heads, c.head_dim}), 1, 2);
}

ValueRef attention(Model& model, const std::string& path, ValueRef x, const BlockWeights& w, std::optional<ValueRef> mask) {
  const ValueRef joint = conv1d(model, path + ".c_attn", x, w.c_attn);
  model.tape.enter(path, "GPT2Attention");
  const std::vector<ValueRef> parts = split(model.tape, joint, model.config.hidden, 2);
  const ValueRef q_part = parts[0], k_part = parts[1], v_part = parts[2];
  const ValueRef k = heads_of(model, k_part), v = heads_of(model, v_part), q = heads_of(model, q_part);
  const ValueRef projected = conv1d(model, path + ".c_proj", attend(model, q, k, v, mask, true), w.attn_proj);
  return drop(model, path + ".resid_dropout", projected, model.config.hidden_dropout);
}

ValueRef mlp(Model& model, const std::string& path, ValueRef x, const BlockWeights& w) {
  const ValueRef inner = activate(model, path + ".act", conv1d(model, path + ".c_fc", x, w.c_fc));
  return drop(model, path + ".dropout", conv1d(model, path + ".c_proj", inner, w.mlp_proj), model.config.hidden_dropout);
}

ValueRef block(Model& model, const std::string& path, ValueRef x, const BlockWeights& w, std::optional<ValueRef> mask) {
  Tape& tape = model.tape;
  const ValueRef attended = attention(model, path + ".attn", layer_norm(model, path + ".ln_1", x, w.ln_1), w, mask);
  tape.enter(path, "GPT2Block");
  const ValueRef middle = add(tape, attended, x);
  const ValueRef out = mlp(model, path + ".mlp", layer_norm(model, path + ".ln_2", middle, w.ln_2), w);
  tape.enter(path, "GPT2Block");
  return add(tape, middle, out);
}

}  // namespace

ValueRef build_gpt2(Model& model) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  const GenerateOptions& options = model.options;
  Sources sources(tape, options);
  const ValueRef ids = sources.input("input_ids", {options.micro_batch, options.sequence});
  const ValueRef labels = sources.input("labels", {options.micro_batch, options.sequence});
  const ValueRef wte = sources.parameter("transformer.wte.weight", {c.vocab, c.hidden});
  const ValueRef wpe = sources.parameter("transformer.wpe.weight", {c.max_positions, c.hidden});
  std::vector<BlockWeights> blocks;
  for (std::int64_t i = 0; i < c.layers; ++i) blocks.push_back(declare_block(sources, c, i));
  sources.check_targets();
  const Affine ln_f = sources.affine("transformer.ln_f", {c.hidden}, c.hidden);
  Affine head;
  head.weight = c.tied_embeddings ? wte : sources.parameter("lm_head.weight", {c.vocab, c.hidden});

  tape.enter("transformer.wte", "Embedding");
  const ValueRef tokens = embedding(tape, wte, ids);
  tape.enter("transformer", "GPT2Model");
  const ValueRef positions = tape.call("aten.unsqueeze.default", tape.call("aten.arange.default", options.sequence), 0);
  tape.enter("transformer.wpe", "Embedding");
  const ValueRef places = embedding(tape, wpe, positions);
  tape.enter("transformer", "GPT2Model");
  ValueRef x = add(tape, tokens, places);
  std::optional<ValueRef> mask;
  if (!options.flash_attention) mask = hidden_mask(model);
  if (options.flash_attention && options.causal_mask_tensor) mask = visible_mask(model);
  x = drop(model, "transformer.drop", x, c.embedding_dropout);
  for (std::int64_t i = 0; i < c.layers; ++i) x = block(model, block_path(i), x, blocks[static_cast<std::size_t>(i)], mask);
  x = layer_norm(model, "transformer.ln_f", x, ln_f);
  const ValueRef logits = linear(model, "lm_head", x, head);
  tape.enter("", "GPT2LMHeadModel");
  return cross_entropy(model, logits, labels, true);
}

}  // namespace sgsim::import::hf
