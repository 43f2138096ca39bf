#pragma once

#include "sim/import/hf_config/layers.h"

namespace sgsim::import::hf {

// Each declares the model's sources, calls its modules in Hugging Face's order and returns the loss.
ValueRef build_llama(Model& model);    // LlamaForCausalLM and MixtralForCausalLM
ValueRef build_gpt2(Model& model);     // GPT2LMHeadModel
ValueRef build_bert(Model& model);     // BertForMaskedLM

/// Parameters of one mixture-of-experts block.
struct Experts {
  ValueRef gate;        // [experts, hidden]
  ValueRef w1, w3, w2;  // [experts, ffn, hidden] twice, [experts, hidden, ffn]; grouped: w1 is gate and up [experts, 2 ffn, hidden], no w3
};
Experts declare_experts(Sources& sources, const Config& config, const std::string& path);
/// Router, top-k, and the experts as products batched over experts with room for tokens * k / experts (rounded up) tokens
/// each: what a balanced router gives. Nothing is dropped at that balance.
ValueRef mixture_of_experts(Model& model, const std::string& path, ValueRef x, const Experts& experts);

}  // namespace sgsim::import::hf
