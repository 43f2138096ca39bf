#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::import::hf {

enum class Family : std::uint8_t { llama, gpt2, bert, mixtral };

/// What the generator needs of a config.json, whatever the family calls it.
struct Config {
  Family family = Family::llama;
  std::int64_t vocab = 0, hidden = 0, ffn = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, max_positions = 0;
  std::int64_t type_vocab = 0;                       // bert
  std::int64_t experts = 0, experts_per_token = 0;   // mixtral
  bool grouped_experts = false;                      // mixtral: "experts_implementation": "grouped_mm" (transformers 5)
  bool sparse_prediction = false;                    // bert: the head runs over masked tokens only (ModernBERT's key)
  double norm_eps = 0.0;
  std::string activation;                            // as Hugging Face names it ("silu", "gelu_new")
  bool tied_embeddings = false, attention_bias = false, mlp_bias = false;
  std::vector<std::string> left_out;                 // sizes that the file leaves to the library's default: "n_layer 12"
  double embedding_dropout = 0.0, hidden_dropout = 0.0, attention_dropout = 0.0;
};

/// Reads a config.json. Layers, widths, heads and vocabulary of llama and mixtral must be stated; another absent key takes the
/// default that Hugging Face documents for that family, and only that (sizes are listed in `left_out`); keys
/// that change the computation in a way that is not modelled are errors; other keys are none of our business. Throws
/// InputError with file and JSON path.
[[nodiscard]] Config parse_config(std::string_view json, const std::string& file);

[[nodiscard]] std::string_view to_text(Family family);

}  // namespace sgsim::import::hf
