#include "sim/import/hf_config/config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <initializer_list>

#include "sim/core/json_value.h"

namespace sgsim::import::hf {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 24;  // of any size in a config
constexpr std::int64_t kMostLayers = 10000;
constexpr double kMostElements = 1e15;                  // of any weight: a petabyte, and products stay inside 64 bits
constexpr std::array<std::string_view, 5> kActivations = {"silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu"};

class Reader {
 public:
  Reader(const JsonValue& root, const std::string& file) : root_(root), file_(file) {}

  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t otherwise) const {
    const auto value = root_.find(key);
    return value ? value->integer_between(1, kMost) : otherwise;
  }
  /// A size that decides what the model costs: must be stated, or else is noted as the library's default.
  [[nodiscard]] std::int64_t stated(std::string_view key, std::int64_t most = kMost) const {
    const auto value = root_.find(key);
    if (value) return value->integer_between(1, most);
    throw InputError({.file = file_, .where = fmt::format("$.{}", key), .found = "nothing", .expected = "a whole number: models of this family come in many sizes", .hint = ""});
  }
  [[nodiscard]] std::int64_t noted(std::string_view key, std::int64_t otherwise, std::int64_t most = kMost) const {
    const auto value = root_.find(key);
    if (value) return value->integer_between(1, most);
    left_out_.push_back(fmt::format("{} {}", key, otherwise));
    return otherwise;
  }
  [[nodiscard]] std::vector<std::string> left_out() const { return left_out_; }
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const {
    const auto value = root_.find(key);
    return value ? value->flag() : otherwise;
  }
  [[nodiscard]] double probability(std::string_view key, double otherwise) const {
    const auto value = root_.find(key);
    if (!value) return otherwise;
    const double p = value->number();
    if (!(p >= 0.0 && p < 1.0)) value->fail("a probability from 0 to below 1");
    return p;
  }
  [[nodiscard]] double eps(std::string_view key, double otherwise) const {
    const auto value = root_.find(key);
    if (!value) return otherwise;
    const double number = value->number();
    if (!(number > 0.0 && number < 1.0)) value->fail("a number between 0 and 1");
    return number;
  }
  [[nodiscard]] std::string activation(std::string_view key, std::string_view otherwise) const {
    const auto value = root_.find(key);
    if (!value) return std::string(otherwise);
    if (std::find(kActivations.begin(), kActivations.end(), value->text()) == kActivations.end()) {
      value->fail("one of silu, gelu, gelu_new, gelu_pytorch_tanh, relu", "other activations are not modelled");
    }
    return value->text();
  }
  [[nodiscard]] std::string word(std::string_view key, std::initializer_list<std::string_view> known, std::string_view otherwise) const {
    const auto value = root_.find(key);
    if (!value) return std::string(otherwise);
    if (std::find(known.begin(), known.end(), value->text()) == known.end()) value->fail(fmt::format("one of {}", fmt::join(known, ", ")));
    return value->text();
  }
  /// A switch that is modelled only in its off position.
  void refuse(std::string_view key) const {
    const auto value = root_.find(key);
    if (!value) return;
    if (value->json().is_boolean() && !value->flag()) return;
    value->fail("absent, null or false", "this feature is not modelled, so its time and memory would be wrong");
  }

 private:
  const JsonValue& root_;
  const std::string& file_;
  mutable std::vector<std::string> left_out_;
};

// The defaults below are those of transformers' LlamaConfig, MixtralConfig, GPT2Config and BertConfig (documented in
// huggingface.co/docs/transformers/model_doc/{llama,mixtral,gpt2,bert}).

Config read_llama(const Reader& in) {
  Config c;
  c.family = Family::llama;
  c.vocab = in.stated("vocab_size");
  c.hidden = in.stated("hidden_size");
  c.ffn = in.stated("intermediate_size");
  c.layers = in.stated("num_hidden_layers", kMostLayers);
  c.heads = in.stated("num_attention_heads");
  c.kv_heads = in.noted("num_key_value_heads", c.heads);
  c.head_dim = in.size("head_dim", c.hidden / c.heads);
  c.max_positions = in.size("max_position_embeddings", 2048);
  c.norm_eps = in.eps("rms_norm_eps", 1e-6);
  c.activation = in.activation("hidden_act", "silu");
  c.tied_embeddings = in.flag("tie_word_embeddings", false);
  c.attention_bias = in.flag("attention_bias", false);
  c.mlp_bias = in.flag("mlp_bias", false);
  c.attention_dropout = in.probability("attention_dropout", 0.0);
  return c;
}

Config read_mixtral(const Reader& in) {
  Config c;
  c.family = Family::mixtral;
  c.vocab = in.stated("vocab_size");
  c.hidden = in.stated("hidden_size");
  c.ffn = in.stated("intermediate_size");
  c.layers = in.stated("num_hidden_layers", kMostLayers);
  c.heads = in.stated("num_attention_heads");
  c.kv_heads = in.noted("num_key_value_heads", 8);
  c.head_dim = in.size("head_dim", c.hidden / c.heads);
  c.max_positions = in.size("max_position_embeddings", 4096 * 32);
  c.norm_eps = in.eps("rms_norm_eps", 1e-5);
  c.activation = in.activation("hidden_act", "silu");
  c.tied_embeddings = in.flag("tie_word_embeddings", false);
  c.attention_dropout = in.probability("attention_dropout", 0.0);
  c.experts = in.noted("num_local_experts", 8);
  c.experts_per_token = in.noted("num_experts_per_tok", 2);
  c.grouped_experts = in.word("experts_implementation", {"eager", "grouped_mm"}, "eager") == "grouped_mm";
  in.refuse("sliding_window");
  in.refuse("output_router_logits");  // would add the auxiliary loss
  return c;
}

Config read_gpt2(const Reader& in) {
  Config c;
  c.family = Family::gpt2;
  c.vocab = in.noted("vocab_size", 50257);
  c.hidden = in.noted("n_embd", 768);
  c.ffn = in.size("n_inner", 4 * c.hidden);
  c.layers = in.noted("n_layer", 12, kMostLayers);
  c.heads = in.noted("n_head", 12);
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.max_positions = in.noted("n_positions", 1024);
  c.norm_eps = in.eps("layer_norm_epsilon", 1e-5);
  c.activation = in.activation("activation_function", "gelu_new");
  c.tied_embeddings = in.flag("tie_word_embeddings", true);
  c.embedding_dropout = in.probability("embd_pdrop", 0.1);
  c.hidden_dropout = in.probability("resid_pdrop", 0.1);
  c.attention_dropout = in.probability("attn_pdrop", 0.1);
  in.refuse("scale_attn_by_inverse_layer_idx");
  in.refuse("reorder_and_upcast_attn");
  in.refuse("add_cross_attention");
  return c;
}

Config read_bert(const Reader& in) {
  Config c;
  c.family = Family::bert;
  c.vocab = in.noted("vocab_size", 30522);
  c.hidden = in.noted("hidden_size", 768);
  c.ffn = in.noted("intermediate_size", 3072);
  c.layers = in.noted("num_hidden_layers", 12, kMostLayers);
  c.heads = in.noted("num_attention_heads", 12);
  c.kv_heads = c.heads;
  c.head_dim = c.hidden / c.heads;
  c.max_positions = in.noted("max_position_embeddings", 512);
  c.type_vocab = in.size("type_vocab_size", 2);
  c.norm_eps = in.eps("layer_norm_eps", 1e-12);
  c.activation = in.activation("hidden_act", "gelu");
  c.sparse_prediction = in.flag("sparse_prediction", false);
  c.tied_embeddings = in.flag("tie_word_embeddings", true);
  c.hidden_dropout = in.probability("hidden_dropout_prob", 0.1);
  c.embedding_dropout = c.hidden_dropout;
  c.attention_dropout = in.probability("attention_probs_dropout_prob", 0.1);
  in.refuse("is_decoder");
  in.refuse("add_cross_attention");
  return c;
}

void check_heads(const Config& c, const JsonValue& root, const std::string& file) {
  const auto fail = [&](std::string found, std::string expected) {
    throw InputError({.file = file, .where = root.path(), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  };
  const bool sized = root.find("head_dim").has_value();
  if (!sized && c.hidden % c.heads != 0) fail(fmt::format("hidden size {} with {} heads", c.hidden, c.heads), "heads that divide the hidden size");
  if (c.heads % c.kv_heads != 0) fail(fmt::format("{} heads with {} key-value heads", c.heads, c.kv_heads), "key-value heads that divide the heads");
  const bool rotary = c.family == Family::llama || c.family == Family::mixtral;
  if (rotary && c.head_dim % 2 != 0) fail(fmt::format("head size {}", c.head_dim), "an even head size (rotary embedding)");
  if (c.family == Family::mixtral && c.experts_per_token > c.experts) {
    fail(fmt::format("{} experts a token of {}", c.experts_per_token, c.experts), "at most as many as there are");
  }
}

void check_sizes(const Config& c, const JsonValue& root, const std::string& file) {
  const auto size = [](std::int64_t value) { return static_cast<double>(value); };
  const double hidden = size(c.hidden);
  const double largest = std::max({size(c.vocab) * hidden, size(c.max_positions) * hidden, size(c.heads) * size(c.head_dim) * hidden * 3.0,
                                   size(c.ffn) * hidden * size(std::max<std::int64_t>(c.experts, 1))});
  if (largest <= kMostElements) return;
  throw InputError({.file = file, .where = root.path(), .found = fmt::format("a weight of {:.0e} elements", largest),
                    .expected = "weights of at most 1e15 elements", .hint = ""});
}

}  // namespace

std::string_view to_text(Family family) {
  constexpr std::array<std::string_view, 4> kNames = {"llama", "gpt2", "bert", "mixtral"};
  return kNames[static_cast<std::size_t>(family)];
}

Config parse_config(std::string_view json, const std::string& file) {
  const nlohmann::json tree = parse_json(json, file);
  const JsonValue root(tree, file);
  const JsonValue type = root.at("model_type");
  const Reader in(root, file);
  in.refuse("quantization_config");
  Config config;
  if (type.text() == "llama") {
    config = read_llama(in);
  } else if (type.text() == "mixtral") {
    config = read_mixtral(in);
  } else if (type.text() == "gpt2") {
    config = read_gpt2(in);
  } else if (type.text() == "bert") {
    config = read_bert(in);
  } else {
    type.fail("one of llama, gpt2, bert, mixtral", "capture other models with traces/capture/capture_graph.py");
  }
  if (const auto position = root.find("position_embedding_type"); position && position->text() != "absolute") {
    position->fail("\"absolute\"", "relative position embeddings are not modelled");
  }
  config.left_out = in.left_out();
  check_heads(config, root, file);
  check_sizes(config, root, file);
  return config;
}

}  // namespace sgsim::import::hf
