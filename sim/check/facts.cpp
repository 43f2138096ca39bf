#include "sim/check/facts.h"

#include <algorithm>
#include <cctype>
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

// Intel Omni-Path Host Fabric Interface 100 series: 100 Gbit/s a port.
constexpr double kOmniPath = 100.0;

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

std::optional<Network> network_of(std::string_view interconnect, std::int64_t gpus_per_node) {
  const std::string text = lower_case(interconnect);
  if (const auto m = match(text, R"((\d+)\s*x\s*(\d+)\s*gb)")) return Network{.nics = std::stoi((*m)[1]), .gbit_per_s = std::stod((*m)[2])};
  if (const auto m = match(text, R"((\d+)\s*omni-path links? per node)")) return Network{.nics = std::stoi((*m)[1]), .gbit_per_s = kOmniPath};
  if (const auto m = match(text, R"((\d+)\s*gb(?:ps|it/s|/s)\s*(?:rdma\s*)?per gpu)")) return Network{.nics = static_cast<int>(gpus_per_node), .gbit_per_s = std::stod((*m)[1])};
  if (any_of(text, {"p4d.", "p4de."})) return Network{.nics = 4, .gbit_per_s = 100.0};  // Amazon EC2 P4 instances: 4 x 100 Gbit/s (aws.amazon.com/ec2/instance-types/p4)
  if (const auto m = match(text, R"((\d+)\s*gb(?:ps|it/s|/s)\s*(?:per |/\s*)node)")) {
    // A node's total with nothing said of its ports: ports of 100 Gbit/s, at most one a GPU.
    const double total = std::stod((*m)[1]);
    const int nics = std::clamp(static_cast<int>(total / 100.0), 1, static_cast<int>(std::max<std::int64_t>(1, gpus_per_node)));
    return Network{.nics = nics, .gbit_per_s = total / nics};
  }
  return std::nullopt;
}

std::optional<std::string> sharding_of(const Record& r) {
  if (r.sharding.empty()) return std::nullopt;
  if (any_of(r.sharding, {"hsdp", "hybrid shard"})) return "hybrid";
  if (any_of(r.sharding, {"fsdp", "zero-3", "zero3", "zero stage 3", "full_shard"})) return "fsdp";
  if (any_of(r.sharding, {"zero-2", "zero2", "zero stage 2"})) return "zero2";
  if (any_of(r.sharding, {"zero-1", "zero1", "zero stage 1", "distributed optimizer"})) return "zero1";
  if (any_of(r.sharding, {"ddp", "none"})) return "ddp";
  return std::nullopt;
}

std::optional<std::string> recompute_of(const Record& r) {
  if (r.recompute.empty()) return std::nullopt;
  if (mentions(r.recompute, "full")) return "full";
  if (mentions(r.recompute, "selective")) return "selective";
  if (any_of(r.recompute, {"none", "false"})) return "none";
  return std::nullopt;
}

std::optional<std::string> precision_of(const Record& r) {
  if (any_of(r.precision, {"fp8", "float8"})) return "float8";
  if (any_of(r.precision, {"bf16", "bfloat16"})) return "bfloat16";
  if (any_of(r.precision, {"fp16", "float16", "amp"})) return "float16";
  if (any_of(r.precision, {"tf32", "fp32", "float32"})) return "float32";
  return std::nullopt;
}

bool is_async_tensor_parallel(const Record& r) { return any_of(r.overlap + " " + r.precision, {"asynctp", "async tp"}); }

std::optional<std::string> execution_of(const Record& r) {
  const std::string text = r.execution + " " + r.overlap + " " + r.framework;
  if (any_of(text, {"cuda graph", "cuda_graph", "cudagraph", "reduce-overhead"})) return "cuda_graph";
  if (any_of(text, {"torch.compile", "compile"}) || is_async_tensor_parallel(r)) return "compiled";
  if (mentions(r.execution, "eager")) return "eager";
  return std::nullopt;
}

}  // namespace sgsim::check
