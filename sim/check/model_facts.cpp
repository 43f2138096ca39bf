#include "sim/check/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/check/doubts.h"
#include "sim/check/facts.h"
#include "sim/core/error.h"
#include "sim/core/json_value.h"
#include "sim/core/text_file.h"

namespace sgsim::check {
namespace {

using nlohmann::json;

[[noreturn]] void lacking(const Record& r, const std::string& key) {
  throw InputError({.file = r.file, .where = r.id, .found = "no model." + key, .expected = "the model's " + key, .hint = ""});
}

enum class Family : std::uint8_t { llama, gpt2, bert, mixtral };

Family family_of(const Record& r, const KnownModel* known) {
  const std::string name = r.family + " " + r.model + " " + (known != nullptr ? known->family : "");
  if (mentions(name, "mixtral")) return Family::mixtral;
  if (mentions(name, "bert")) return Family::bert;
  if (mentions(name, "llama") || mentions(name, "internlm") || mentions(name, "mistral")) return Family::llama;
  return Family::gpt2;
}

class Sizes {
 public:
  Sizes(const Record& record, const KnownModel* known, std::vector<std::string>& assumed) : record_(record), known_(known), assumed_(assumed) {}

  std::optional<std::int64_t> find(const std::string& key, std::optional<std::int64_t> stated) {
    if (stated) return stated;
    if (known_ == nullptr) return std::nullopt;
    const auto found = known_->sizes.find(key);
    if (found == known_->sizes.end()) return std::nullopt;
    assumed_.push_back(fmt::format("{} {} ({})", key, found->second, known_->source));
    return found->second;
  }
  std::int64_t get(const std::string& key, std::optional<std::int64_t> stated) {
    const auto value = find(key, stated);
    if (!value) lacking(record_, key);
    return *value;
  }

 private:
  const Record& record_;
  const KnownModel* known_;
  std::vector<std::string>& assumed_;
};

// Parameters of a GPT layer: 12 h^2 (attention 4 h^2, feed-forward 8 h^2), and the embedding V h.
std::optional<std::int64_t> layers_from_parameters(const Record& r, std::int64_t hidden) {
  if (!r.params_b || !r.vocab) return std::nullopt;
  const double h = static_cast<double>(hidden);
  const double layers = (*r.params_b * 1e9 - static_cast<double>(*r.vocab) * h) / (12.0 * h * h);
  if (layers > static_cast<double>(kLargestSize)) return std::nullopt;
  return std::llround(layers);
}

// Heads of about 128 that tensor parallelism divides. A head of one is 128 times too small, so none above 128 times 128 is nearer.
std::int64_t heads_for(std::int64_t hidden, std::int64_t tp) {
  std::int64_t best = 0;
  const auto distance = [&](std::int64_t size) { return std::abs(std::log(static_cast<double>(size) / 128.0)); };
  for (std::int64_t size = std::min<std::int64_t>(hidden, 128 * 128); size >= 1; --size) {
    if (hidden % size != 0 || hidden / size % tp != 0) continue;
    if (best == 0 || distance(size) < distance(best)) best = size;
  }
  return best == 0 ? 0 : hidden / best;
}

/// A family whose attention has as many key and value heads as heads, and no experts: a record that says otherwise is of another.
void check_dense(const Record& r, std::int64_t heads, const char* family) {
  const auto fail = [&](const std::string& found) { throw InputError({.file = r.file, .where = r.id, .found = found, .expected = "", .hint = ""}); };
  if (r.kv_heads && *r.kv_heads != heads) fail(fmt::format("model.kv_heads: {}, and the family {} has as many as heads, {}", *r.kv_heads, family, heads));
  if (r.experts.value_or(1) > 1) fail(fmt::format("model.experts: {}, and the family {} has none", *r.experts, family));
}

json gpt2_config(const Record& r, Sizes& sizes, std::vector<std::string>& assumed) {
  const std::int64_t hidden = sizes.get("hidden", r.hidden);
  auto layers = sizes.find("layers", r.layers);
  if (!layers) {
    layers = layers_from_parameters(r, hidden);
    if (!layers || *layers < 1) lacking(r, "layers");
    assumed.push_back(fmt::format("{} layers (from {} billion parameters)", *layers, *r.params_b));
  }
  auto heads = sizes.find("heads", r.heads);
  if (!heads) {
    heads = heads_for(hidden, r.tp.value_or(1));
    if (*heads == 0) lacking(r, "heads");
    assumed.push_back(fmt::format("{} heads (head size nearest to 128)", *heads));
  }
  check_dense(r, *heads, "gpt2");
  json config = {{"model_type", "gpt2"}, {"n_embd", hidden}, {"n_layer", *layers}, {"n_head", *heads}};
  if (const auto ffn = sizes.find("ffn", r.ffn)) config["n_inner"] = *ffn;
  if (const auto vocab = sizes.find("vocab", r.vocab)) config["vocab_size"] = *vocab;
  else assumed.push_back("GPT-2's vocabulary");
  if (r.sequence) config["n_positions"] = *r.sequence;
  return config;
}

json llama_config(const Record& r, Sizes& sizes, Family family) {
  json config = {{"model_type", family == Family::mixtral ? "mixtral" : "llama"},
                 {"hidden_size", sizes.get("hidden", r.hidden)},
                 {"num_hidden_layers", sizes.get("layers", r.layers)},
                 {"num_attention_heads", sizes.get("heads", r.heads)},
                 {"num_key_value_heads", sizes.get("kv_heads", r.kv_heads)},
                 {"intermediate_size", sizes.get("ffn", r.ffn)},
                 {"vocab_size", sizes.get("vocab", r.vocab)}};
  if (family != Family::mixtral && r.experts.value_or(1) > 1) {
    throw InputError({.file = r.file, .where = r.id, .found = fmt::format("model.experts: {}, and the family llama has none", *r.experts), .expected = "", .hint = ""});
  }
  if (family == Family::mixtral) {
    config["num_local_experts"] = sizes.get("experts", r.experts);
    config["num_experts_per_tok"] = sizes.get("experts_per_token", r.experts_per_token);
  }
  return config;
}

json bert_config(const Record& r, Sizes& sizes) {
  check_dense(r, sizes.get("heads", r.heads), "bert");
  json config = {{"model_type", "bert"},
                 {"hidden_size", sizes.get("hidden", r.hidden)},
                 {"num_hidden_layers", sizes.get("layers", r.layers)},
                 {"num_attention_heads", sizes.get("heads", r.heads)},
                 {"intermediate_size", sizes.get("ffn", r.ffn)},
                 {"vocab_size", sizes.get("vocab", r.vocab)}};
  return config;
}

/// The activation as Hugging Face names it, where the record says it.
std::optional<std::string> activation_of(const Record& r) {
  if (mentions(r.activation, "swiglu")) return "silu";
  for (const char* name : {"gelu_new", "gelu_pytorch_tanh", "silu", "gelu", "relu"}) {
    if (r.activation.starts_with(name)) return name;
  }
  if (mentions(r.family, "gelu")) return "gelu";
  return std::nullopt;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

KnownModels read_known_models(const std::string& path) {
  const json tree = parse_json(read_text_file(path), path);
  const JsonValue root(tree, path);
  KnownModels models;
  for (const auto& [name, value] : root.at("models").json().items()) {
    const JsonValue entry = root.at("models").at(name);
    entry.check_keys({"family", "source", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "experts", "experts_per_token"});
    KnownModel& model = models[lower_case(name)];
    model.family = entry.at("family").text();
    model.source = entry.at("source").text();
    for (const auto& [key, size] : value.items()) {
      if (size.is_number_integer()) model.sizes[key] = size.get<std::int64_t>();
    }
  }
  return models;
}

bool is_generated_family(const Record& r) {
  if (mentions(r.family + r.model, "resnet")) return false;
  return is_open(r.family) || understands_family(r.family);
}

json model_config(const Record& r, const KnownModels& known, std::vector<std::string>& assumed) {
  // Candidates of one name differ in their hidden size: "NAME hHIDDEN" before "NAME".
  auto found = r.hidden ? known.find(lower_case(fmt::format("{} h{}", r.model, *r.hidden))) : known.end();
  if (found == known.end()) found = known.find(lower_case(r.model));
  const KnownModel* table = found == known.end() ? nullptr : &found->second;
  Sizes sizes(r, table, assumed);
  const Family family = family_of(r, table);
  const std::string named = r.model + " " + (table != nullptr ? table->family : "");
  if (is_open(r.family) && !understands_family(named)) assumed.push_back("family gpt2 (neither family nor name says one)");
  json config;
  switch (family) {
    case Family::gpt2: config = gpt2_config(r, sizes, assumed); break;
    case Family::bert: config = bert_config(r, sizes); break;
    case Family::llama:
    case Family::mixtral: config = llama_config(r, sizes, family); break;
  }
  if (const auto activation = activation_of(r)) config[family == Family::gpt2 ? "activation_function" : "hidden_act"] = *activation;
  if (mentions(r.family, "untied")) config["tie_word_embeddings"] = false;
  if (r.tied_embeddings) config["tie_word_embeddings"] = *r.tied_embeddings;
  return config;
}

}  // namespace sgsim::check
