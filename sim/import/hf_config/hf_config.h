#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/plan/plan.h"

namespace sgsim::import {

/// Low-rank adapters beside some linear layers (LoRA, Hu et al. 2021, as Hugging Face's PEFT runs them); all other parameters are
/// frozen. Nothing at rank 0.
struct Adapters {
  std::int64_t rank = 0;
  std::vector<std::string> targets;  // last parts of module names ("q_proj"); "all-linear": every linear layer but the head
  double dropout = 0.0;              // before the first product
  bool operator==(const Adapters&) const = default;
};

/// How a generated graph is written where frameworks differ.
struct GenerateOptions {
  std::int64_t micro_batch = 1;    // samples
  std::int64_t sequence = 0;       // tokens a sample
  bool flash_attention = true;     // false: batched products, scale, mask, softmax, dropout-free (Megatron before flash)
  bool repeated_heads = false;     // keys and values are copied to every query head before fused attention (torchtitan until 2025)
  bool causal_mask_tensor = false; // Hugging Face with an explicit mask: attention reads a dense mask
  bool eager = false;              // operators run one by one: what makes the host wait there (grouped experts in float32) is in the graph
  bool autocast = true;            // casts around matmuls; false: parameters are already `dtype`
  graph::DType dtype = graph::DType::bfloat16;
  Adapters adapters{};
};

struct HfModel {
  plan::ModelShape shape;
  std::string family;              // "llama", "gpt2", "bert", "mixtral"
  std::string config_json;         // as read
  std::vector<std::string> left_out;  // sizes that it leaves to the library's default: "n_layer 12"
};

/// Reads a Hugging Face config.json of the llama, gpt2, bert or mixtral family. Throws InputError.
[[nodiscard]] HfModel read_hf_config(const std::string& path);
/// The same from text in memory; `file` is for messages.
[[nodiscard]] HfModel parse_hf_config(std::string_view json, const std::string& file);
/// The operator graph (forward and backward, loss included) of that model for one micro-batch. With adapters, a target that names no
/// linear layer is an InputError.
[[nodiscard]] graph::OperatorGraph generate_graph(const HfModel& model, const GenerateOptions& options);
/// A captured graph of a model with k layers, its (last) layer repeated so that there are `layers`.
[[nodiscard]] graph::OperatorGraph stack_layers(const graph::OperatorGraph& captured, int layers);

}  // namespace sgsim::import
