#include "sim/check/measured.h"

#include "sim/check/facts.h"

namespace sgsim::check {
namespace {

constexpr double kGiB = 1073741824.0;

std::optional<double> number(const std::map<std::string, double>& numbers, const char* key) {
  const auto found = numbers.find(key);
  if (found == numbers.end() || found->second <= 0.0) return std::nullopt;
  return found->second;
}

/// Megatron-LM's operations a step: c B s l h^2 (1 + s / 6h + V / (c/6) l h), c = 72 for the model, 96 with full recomputation.
std::optional<double> convention_flops(const Record& r) {
  const bool full = mentions(r.flops_convention, "96*B*s*l*h^2"), model = mentions(r.flops_convention, "72*B*s*l*h^2");
  if (full == model || !r.global_batch || !r.sequence || !r.layers || !r.hidden || !r.vocab) return std::nullopt;
  const double b = static_cast<double>(*r.global_batch), s = static_cast<double>(*r.sequence), l = static_cast<double>(*r.layers);
  const double h = static_cast<double>(*r.hidden), v = static_cast<double>(*r.vocab);
  const double c = full ? 96.0 : 72.0;
  return c * b * s * l * h * h * (1.0 + s / (6.0 * h) + v / (c / 6.0 * l * h));
}

std::optional<double> from_tokens(const Record& r) {
  if (!r.global_batch || !r.sequence) return std::nullopt;
  const double tokens = static_cast<double>(*r.global_batch) * static_cast<double>(*r.sequence);
  if (const auto rate = number(r.measured, "tokens_per_s")) return tokens / *rate;
  const auto each = number(r.measured, "tokens_per_s_per_gpu");
  if (each && r.gpus) return tokens / (*each * static_cast<double>(*r.gpus));
  return std::nullopt;
}

}  // namespace

std::optional<double> measured_step(const Record& r) {
  if (!r.is_measured() || mentions(r.outcome, "OOM")) return std::nullopt;
  if (const auto time = number(r.measured, "step_time_s")) return time;
  if (const auto time = number(r.derived, "step_time_s_from_aggregate")) return time;
  if (const auto time = number(r.derived, "step_time_s")) return time;
  if (const auto time = from_tokens(r)) return time;
  if (const auto rate = number(r.measured, "samples_per_s"); rate && r.global_batch) return static_cast<double>(*r.global_batch) / *rate;
  if (const auto rate = number(r.measured, "tflops_per_gpu"); rate && r.gpus) {
    if (const auto flops = convention_flops(r)) return *flops / (*rate * 1e12 * static_cast<double>(*r.gpus));
  }
  for (const auto& [key, value] : r.derived) {
    if (key.starts_with("step_time_s") && value > 0.0) return value;
  }
  return std::nullopt;
}

std::optional<MeasuredMemory> measured_memory(const Record& r, bool reserved) {
  if (!r.is_measured()) return std::nullopt;
  for (const char* key : {"peak_mem_gib", "peak_mem_gib_per_rank"}) {
    if (const auto gib = number(r.measured, key)) return MeasuredMemory{.bytes = *gib * kGiB, .kind = MemoryKind::allocated};
  }
  const auto gb = number(r.measured, "peak_mem_gb");
  if (!gb) return std::nullopt;
  const std::string words = r.notes + " " + r.flops_convention;
  const bool gib = mentions(words, "GiB");
  // nvidia-smi prints MiB; logs that quote it divide by 1,024.
  const bool smi = mentions(words, "nvidia-smi");
  return MeasuredMemory{.bytes = *gb * (gib || smi ? kGiB : 1e9), .kind = reserved || smi ? MemoryKind::reserved : MemoryKind::allocated};
}

}  // namespace sgsim::check
