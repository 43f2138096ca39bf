#include <fmt/format.h>

#include "sim/import/hf_config/families.h"

namespace sgsim::import::hf {
namespace {

struct LayerWeights {
  Affine query, key, value, attention_dense, attention_norm, intermediate, output_dense, output_norm;
};

struct EmbeddingWeights {
  ValueRef word, position, token_type;
  Affine norm;
};

std::string layer_path(std::int64_t index) { return fmt::format("bert.encoder.layer.{}", index); }

LayerWeights declare_layer(Sources& sources, const Config& c, std::int64_t index) {
  const std::string path = layer_path(index), self = path + ".attention.self.";
  LayerWeights w;
  w.query = sources.projection(self + "query", {c.hidden, c.hidden}, c.hidden);
  w.key = sources.projection(self + "key", {c.hidden, c.hidden}, c.hidden);
  w.value = sources.projection(self + "value", {c.hidden, c.hidden}, c.hidden);
  w.attention_dense = sources.projection(path + ".attention.output.dense", {c.hidden, c.hidden}, c.hidden);
  w.attention_norm = sources.affine(path + ".attention.output.LayerNorm", {c.hidden}, c.hidden);
  w.intermediate = sources.projection(path + ".intermediate.dense", {c.ffn, c.hidden}, c.ffn);
  w.output_dense = sources.projection(path + ".output.dense", {c.hidden, c.ffn}, c.hidden);
  w.output_norm = sources.affine(path + ".output.LayerNorm", {c.hidden}, c.hidden);
  return w;
}

EmbeddingWeights declare_embeddings(Sources& sources, const Config& c) {
  EmbeddingWeights w;
  w.word = sources.parameter("bert.embeddings.word_embeddings.weight", {c.vocab, c.hidden});
  w.position = sources.parameter("bert.embeddings.position_embeddings.weight", {c.max_positions, c.hidden});
  w.token_type = sources.parameter("bert.embeddings.token_type_embeddings.weight", {c.type_vocab, c.hidden});
  w.norm = sources.affine("bert.embeddings.LayerNorm", {c.hidden}, c.hidden);
  return w;
}

ValueRef head_view(Model& model, const std::string& path, ValueRef x) {
  model.tape.enter(path, "BertSdpaSelfAttention");
  const Dims shape = model.tape.shape(x);
  return transpose(model.tape, view(model.tape, x, {shape[0], shape[1], model.config.heads, model.config.head_dim}), 1, 2);
}

/// LayerNorm(dropout(dense(x)) + residual), the end of both halves of a layer.
ValueRef close_residual(Model& model, const std::string& path, ValueRef x, ValueRef residual, const Affine& dense, const Affine& norm) {
  const ValueRef y = drop(model, path + ".dropout", linear(model, path + ".dense", x, dense), model.config.hidden_dropout);
  model.tape.enter(path, "BertOutput");
  return layer_norm(model, path + ".LayerNorm", add(model.tape, y, residual), norm);
}

ValueRef encoder_layer(Model& model, const std::string& path, ValueRef x, const LayerWeights& w) {
  const std::string self = path + ".attention.self";
  const ValueRef q = head_view(model, self, linear(model, self + ".query", x, w.query));
  const ValueRef k = head_view(model, self, linear(model, self + ".key", x, w.key));
  const ValueRef v = head_view(model, self, linear(model, self + ".value", x, w.value));
  const ValueRef attended = attend(model, q, k, v, std::nullopt, false);
  const ValueRef middle = close_residual(model, path + ".attention.output", attended, x, w.attention_dense, w.attention_norm);
  const ValueRef inner = activate(model, path + ".intermediate.intermediate_act_fn",
                                  linear(model, path + ".intermediate.dense", middle, w.intermediate));
  return close_residual(model, path + ".output", inner, middle, w.output_dense, w.output_norm);
}

ValueRef embeddings(Model& model, ValueRef ids, ValueRef position_ids, ValueRef token_type_ids, const EmbeddingWeights& w) {
  Tape& tape = model.tape;
  const std::int64_t b = model.options.micro_batch, s = model.options.sequence;
  const std::string path = "bert.embeddings";
  tape.enter(path, "BertEmbeddings");
  const ValueRef places = slice(tape, position_ids, 1, 0, s);
  const ValueRef types = tape.call("aten.expand.default", slice(tape, token_type_ids, 1, 0, s), Dims{b, s});
  tape.enter(path + ".word_embeddings", "Embedding");
  const ValueRef words = embedding(tape, w.word, ids);
  tape.enter(path + ".token_type_embeddings", "Embedding");
  const ValueRef kinds = embedding(tape, w.token_type, types);
  tape.enter(path + ".position_embeddings", "Embedding");
  const ValueRef positions = embedding(tape, w.position, places);
  tape.enter(path, "BertEmbeddings");
  const ValueRef sum = add(tape, add(tape, words, kinds), positions);
  const ValueRef normed = layer_norm(model, path + ".LayerNorm", sum, w.norm);
  return drop(model, path + ".dropout", normed, model.config.embedding_dropout);
}

/// 15 % of all tokens are masked (Devlin et al. 2018, section 3.1).
std::int64_t masked_tokens(std::int64_t tokens) { return (tokens * 15 + 99) / 100; }

}  // namespace

ValueRef build_bert(Model& model) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  const GenerateOptions& options = model.options;
  Sources sources(tape, options);
  const ValueRef ids = sources.input("input_ids", {options.micro_batch, options.sequence});
  const ValueRef labels = sources.input("labels", {options.micro_batch, options.sequence});
  const std::int64_t tokens = options.micro_batch * options.sequence;
  std::optional<ValueRef> masked;
  if (c.sparse_prediction) masked = sources.input("masked_positions", {masked_tokens(tokens)});
  const ValueRef position_ids = sources.buffer("bert.embeddings.position_ids", {1, c.max_positions}, DType::int64);
  const ValueRef token_type_ids = sources.buffer("bert.embeddings.token_type_ids", {1, c.max_positions}, DType::int64);
  const EmbeddingWeights embedding_weights = declare_embeddings(sources, c);
  std::vector<LayerWeights> layers;
  for (std::int64_t i = 0; i < c.layers; ++i) layers.push_back(declare_layer(sources, c, i));
  sources.check_targets();
  const std::string head_path = "cls.predictions";
  const Affine transform = sources.affine(head_path + ".transform.dense", {c.hidden, c.hidden}, c.hidden);
  const Affine transform_norm = sources.affine(head_path + ".transform.LayerNorm", {c.hidden}, c.hidden);
  Affine decoder;
  decoder.weight = c.tied_embeddings ? embedding_weights.word : sources.parameter(head_path + ".decoder.weight", {c.vocab, c.hidden});
  decoder.bias = sources.parameter(head_path + ".bias", {c.vocab});

  ValueRef x = embeddings(model, ids, position_ids, token_type_ids, embedding_weights);
  for (std::int64_t i = 0; i < c.layers; ++i) x = encoder_layer(model, layer_path(i), x, layers[static_cast<std::size_t>(i)]);
  ValueRef targets = labels;
  if (masked) {
    tape.enter("", "BertForMaskedLM");
    x = index_select(tape, view(tape, x, {tokens, c.hidden}), 0, *masked);
    targets = tape.call("aten.index_select.default", tape.call("aten.view.default", labels, Dims{-1}), 0, *masked);
  }
  x = activate(model, head_path + ".transform.transform_act_fn", linear(model, head_path + ".transform.dense", x, transform));
  x = layer_norm(model, head_path + ".transform.LayerNorm", x, transform_norm);
  const ValueRef logits = linear(model, head_path + ".decoder", x, decoder);
  tape.enter("", "BertForMaskedLM");
  return cross_entropy(model, logits, targets, false);
}

}  // namespace sgsim::import::hf
