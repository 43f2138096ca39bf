#include "sim/check/facts.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>

namespace sgsim::check {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return mentions(text, word); });
}

std::optional<std::smatch> match(const std::string& text, const char* pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return std::nullopt;
  return found;
}

/// Without what the text denies: "eager, no torch.compile" is eager.
std::string without_denials(std::string_view text) {
  static const std::regex kDenied(R"(\b(?:no|not|without|non)[ -]+(?:a |any |torch\.|torch |using )?(?:compiled?|compilation|cuda[ _]?graphs?|lora)\b)");
  return std::regex_replace(lower_case(text), kDenied, "");
}

/// Digits of a match; a number that no `int` holds is the largest one, which `network_doubt` then refuses.
int count_of(const std::string& digits) {
  return static_cast<int>(std::min(std::strtod(digits.c_str(), nullptr), static_cast<double>(std::numeric_limits<int>::max())));
}

// Intel Omni-Path Host Fabric Interface 100 series: 100 Gbit/s a port.
constexpr double kOmniPath = 100.0;

/// Amazon EC2 P4 instances: 4 x 100 Gbit/s (aws.amazon.com/ec2/instance-types/p4).
std::optional<Network> instance_network(std::string_view text) {
  return any_of(text, {"p4d.", "p4de."}) ? std::optional(Network{.nics = 4, .gbit_per_s = 100.0}) : std::nullopt;
}

}  // namespace

bool mentions(std::string_view text, std::string_view word) { return lower_case(text).find(lower_case(word)) != std::string::npos; }

std::optional<std::string> cluster_of(const Record& r) {
  const bool pcie = mentions(r.gpu, "pcie") || mentions(r.interconnect, "pcie");
  if (mentions(r.gpu, "A100") || mentions(r.gpu, "A800")) {
    if (pcie) return mentions(r.gpu, "40") ? std::nullopt : std::optional<std::string>("pcie-a100-80gb");
    return any_of(r.gpu, {"40GB", "40 GB"}) ? "dgx-a100-40gb" : "dgx-a100-80gb";
  }
  if (pcie) return std::nullopt;
  if (mentions(r.gpu, "GH200")) return std::nullopt;
  if (mentions(r.gpu, "H200")) return "hgx-h200";
  if (mentions(r.gpu, "H100")) return "dgx-h100";
  return std::nullopt;
}

std::optional<Network> network_of(const Record& r, std::int64_t gpus_per_node) {
  const auto stated = network_of(r.interconnect, gpus_per_node);
  return stated ? stated : instance_network(r.gpu);
}

std::optional<Network> network_of(std::string_view interconnect, std::int64_t gpus_per_node) {
  const std::string text = lower_case(interconnect);
  if (const auto m = match(text, R"((\d+)\s*x\s*(\d+)\s*gb)")) return Network{.nics = count_of((*m)[1]), .gbit_per_s = std::strtod((*m)[2].str().c_str(), nullptr)};
  if (const auto m = match(text, R"((\d+)\s*omni-path links? per node)")) return Network{.nics = count_of((*m)[1]), .gbit_per_s = kOmniPath};
  if (const auto m = match(text, R"((\d+)\s*gb(?:ps|it/s|/s)\s*(?:rdma\s*)?per gpu)")) return Network{.nics = static_cast<int>(std::min<std::int64_t>(gpus_per_node, std::numeric_limits<int>::max())), .gbit_per_s = std::strtod((*m)[1].str().c_str(), nullptr)};
  if (const auto instance = instance_network(text)) return instance;
  if (const auto m = match(text, R"((\d+)\s*gb(?:ps|it/s|/s)\s*(?:per |/\s*)node)")) {
    // A node's total with nothing said of its ports: ports of 100 Gbit/s, at most one a GPU.
    const double total = std::strtod((*m)[1].str().c_str(), nullptr);
    const int nics = std::clamp(static_cast<int>(std::min(total / 100.0, 1e6)), 1, static_cast<int>(std::clamp<std::int64_t>(gpus_per_node, 1, std::numeric_limits<int>::max())));
    return Network{.nics = nics, .gbit_per_s = total / nics};
  }
  return std::nullopt;
}

std::optional<std::string> sharding_of(const Record& r) {
  if (r.sharding.empty()) return std::nullopt;
  if (any_of(r.sharding, {"hsdp", "hybrid shard"})) return "hybrid";
  if (any_of(r.sharding, {"fsdp", "full_shard", "shard_grad_op"})) return "fsdp";
  const std::string text = lower_case(r.sharding);
  if (const auto m = match(text, R"(zero[-_ ]*(?:stage)?[-_ ]*(\d)(?!\d))")) {
    static const std::map<std::string, std::string> kStages = {{"0", "ddp"}, {"1", "zero1"}, {"2", "zero2"}, {"3", "fsdp"}};
    const auto stage = kStages.find((*m)[1]);
    return stage == kStages.end() ? std::nullopt : std::optional<std::string>(stage->second);
  }
  if (mentions(r.sharding, "distributed optimizer")) return "zero1";
  if (any_of(r.sharding, {"ddp", "none", "no_shard", "no sharding"})) return "ddp";
  return std::nullopt;
}

std::optional<std::string> recompute_of(const Record& r) {
  if (r.recompute.empty()) return std::nullopt;
  if (mentions(r.recompute, "full")) return "full";
  if (mentions(r.recompute, "selective")) return "selective";
  if (any_of(r.recompute, {"none", "false"})) return "none";
  const std::string word = lower_case(r.recompute);
  if (word == "no" || word == "off") return "none";
  if (word == "true" || word == "yes" || word == "on") return "full";
  return std::nullopt;
}

std::optional<std::string> precision_of(const Record& r) {
  if (any_of(r.precision, {"fp8", "float8"})) return "float8";
  if (any_of(r.precision, {"bf16", "bfloat16"})) return "bfloat16";
  if (any_of(r.precision, {"fp16", "float16", "amp", "half precision"})) return "float16";
  if (any_of(r.precision, {"tf32", "fp32", "float32"})) return "float32";
  return std::nullopt;
}

bool is_async_tensor_parallel(const Record& r) { return any_of(r.overlap + " " + r.precision, {"asynctp", "async tp"}); }

std::optional<std::string> optimizer_of(const Record& r) {
  if (any_of(r.optimizer, {"adam", "lamb"})) return "adamw";
  if (mentions(r.optimizer, "sgd")) return "sgd";
  return std::nullopt;
}

std::optional<std::string> execution_of(const Record& r) {
  const std::string stated = without_denials(r.execution), text = stated + " " + without_denials(r.overlap + " " + r.framework);
  if (any_of(text, {"cuda graph", "cuda_graph", "cudagraph", "reduce-overhead"})) return "cuda_graph";
  if (mentions(text, "compile") || mentions(stated, "inductor") || is_async_tensor_parallel(r)) return "compiled";
  if (mentions(stated, "eager") || stated != lower_case(r.execution)) return "eager";
  return std::nullopt;
}

bool trains_adapters(const Record& r) { return mentions(without_denials(r.id + " " + r.notes), "LoRA"); }

bool is_open(std::string_view text) {
  const std::string lower = lower_case(text);
  return lower.empty() || lower.starts_with("not stated") || lower.starts_with("not said") || lower.starts_with("unknown") || lower.starts_with("unspecified");
}

bool understands_family(std::string_view family) {
  return any_of(family, {"gpt", "bloom", "mpt", "megatron", "nemotron", "llama", "mistral", "internlm", "mixtral", "bert", "resnet"});
}

bool understands_activation(std::string_view activation) { return any_of(activation, {"gelu", "silu", "swiglu", "relu"}); }

bool understands_execution(std::string_view execution) {
  Record r;
  r.execution = execution;
  return execution_of(r).has_value();
}

std::optional<std::string> schedule_of(const Record& r) {
  if (mentions(r.schedule, "gpipe")) return "gpipe";
  if (any_of(r.schedule, {"zb_h1", "zb-h1", "zero bubble h1", "zero-bubble h1"})) return "zb_h1";
  return std::nullopt;
}

bool understands_schedule(std::string_view schedule) {
  Record r;
  r.schedule = schedule;
  return schedule_of(r).has_value() || any_of(schedule, {"1f1b", "interleaved", "none"});
}

bool understands_unsharded(std::string_view sharding) { return any_of(sharding, {"dtensor", "tensor parallel"}); }

}  // namespace sgsim::check
