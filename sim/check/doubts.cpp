#include "sim/check/doubts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "sim/check/facts.h"

namespace sgsim::check {
namespace {

std::string first_of(std::initializer_list<std::string> doubts) {
  for (const std::string& doubt : doubts) {
    if (!doubt.empty()) return doubt;
  }
  return {};
}

std::string sizes_doubt(const Record& r) {
  const std::pair<const char*, const std::optional<std::int64_t>*> sizes[] = {
      {"hardware.gpus", &r.gpus},         {"hardware.gpus_per_node", &r.gpus_per_node},
      {"model.layers", &r.layers},        {"model.hidden", &r.hidden},
      {"model.heads", &r.heads},          {"model.kv_heads", &r.kv_heads},
      {"model.ffn", &r.ffn},              {"model.vocab", &r.vocab},
      {"model.seq", &r.sequence},         {"model.experts", &r.experts},
      {"model.experts_per_token", &r.experts_per_token},
      {"parallel.dp", &r.dp},             {"parallel.tp", &r.tp},
      {"parallel.pp", &r.pp},             {"parallel.vpp", &r.vpp},
      {"parallel.cp", &r.cp},             {"parallel.ep", &r.ep},
      {"parallel.micro_batch", &r.micro_batch}, {"parallel.global_batch", &r.global_batch},
      {"parallel.grad_accum", &r.grad_accum}};
  for (const auto& [field, value] : sizes) {
    if (const std::string doubt = size_doubt(field, *value); !doubt.empty()) return doubt;
  }
  if (r.params_b && !(*r.params_b > 0.0 && *r.params_b <= static_cast<double>(kLargestSize))) {
    return fmt::format("model.params_b: {}, expected billions of parameters, above 0 and at most 1e9", *r.params_b);
  }
  return {};
}

std::string shape_doubt(const Record& r) {
  if (r.heads && r.kv_heads && *r.heads % *r.kv_heads != 0) return fmt::format("model.kv_heads: {}, expected a divisor of the {} heads", *r.kv_heads, *r.heads);
  if (r.micro_batch && r.dp && r.grad_accum) {
    const double batch = static_cast<double>(*r.micro_batch) * static_cast<double>(*r.dp) * static_cast<double>(*r.grad_accum);
    if (batch > static_cast<double>(kLargestSize)) return fmt::format("parallel.micro_batch x dp x grad_accum: {:.3g}, expected at most 1e9", batch);
  }
  if (mentions(r.schedule, "interleaved") && r.pp.value_or(1) > 1 && r.vpp.value_or(1) == 1) {
    return fmt::format("parallel.vpp: lacking, and parallel.schedule is \"{}\": expected the virtual stages", r.schedule);
  }
  return {};
}

std::string word_doubt(const char* field, const std::string& text, bool understood, const char* words) {
  if (understood || is_open(text)) return {};
  return fmt::format("{}: \"{}\", expected {}", field, text, words);
}

std::string words_doubt(const Record& r) {
  return first_of({
      word_doubt("model.family", r.family, understands_family(r.family) || !r.graph.empty(), "one of gpt, bloom, mpt, megatron, nemotron, llama, mistral, internlm, mixtral, bert, resnet, or a captured graph (field graph)"),
      word_doubt("model.activation", r.activation, understands_activation(r.activation), "one of gelu, gelu_new, gelu_pytorch_tanh, silu, swiglu, relu"),
      word_doubt("precision", r.precision, precision_of(r).has_value(), "one of bf16, fp16, amp, half precision, fp32, tf32, fp8"),
      word_doubt("execution", r.execution, understands_execution(r.execution), "one of eager, compile, reduce-overhead, CUDA graph"),
      word_doubt("optimizer", r.optimizer, optimizer_of(r).has_value(), "one of Adam, AdamW, LAMB, SGD"),
      word_doubt("parallel.recompute", r.recompute, recompute_of(r).has_value(), "one of none, selective, full"),
      word_doubt("parallel.sharding", r.sharding, sharding_of(r).has_value() || understands_unsharded(r.sharding), "one of none, DDP, ZeRO-1, ZeRO-2, ZeRO-3, distributed optimizer, FSDP, SHARD_GRAD_OP, HSDP, DTensor"),
      word_doubt("parallel.schedule", r.schedule, understands_schedule(r.schedule), "one of 1F1B, GPipe, interleaved, zb_h1"),
  });
}

}  // namespace

std::string size_doubt(std::string_view field, const std::optional<std::int64_t>& value) {
  if (!value || (*value >= 1 && *value <= kLargestSize)) return {};
  return fmt::format("{}: {}, expected a whole number from 1 to 1e9", field, *value);
}

std::string network_doubt(std::string_view interconnect, std::int64_t gpus_per_node) {
  constexpr int kMostNics = 256;          // several times what any server has
  constexpr double kFastestNic = 100000;  // Gbit/s; a hundred times today's fastest
  const auto network = network_of(interconnect, gpus_per_node);
  if (!network) return {};
  const bool good = network->nics >= 1 && network->nics <= kMostNics && network->gbit_per_s > 0.0 && network->gbit_per_s <= kFastestNic;
  return good ? "" : fmt::format("hardware.interconnect: \"{}\", expected 1 to {} NICs of up to {:g} Gbit/s", interconnect, kMostNics, kFastestNic);
}

std::string doubt_of(const Record& r) {
  if (!r.unreadable.empty()) return r.unreadable;
  // Each takes for granted what those before it have checked.
  std::string doubt = sizes_doubt(r);
  if (doubt.empty()) doubt = shape_doubt(r);
  if (doubt.empty()) doubt = words_doubt(r);
  return doubt.empty() ? network_doubt(r.interconnect, r.gpus_per_node.value_or(8)) : doubt;
}

}  // namespace sgsim::check
