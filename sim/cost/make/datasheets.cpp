#include "sim/cost/make/datasheets.h"

#include <array>

#include "sim/core/error.h"
#include "sim/cost/make/make_profile.h"

namespace sgsim::cost::make {
namespace {

constexpr std::array<GpuFacts, 5> kFacts = {{
    {"a100-80gb", false, "a100_sxm_gemm_sglang_0.5.10.csv.gz", "a100_sxm_comm_nccl_2.27.3.csv.gz"},
    {"a100-40gb", false, "a100_sxm_gemm_sglang_0.5.10.csv.gz", "a100_sxm_comm_nccl_2.27.3.csv.gz"},
    {"h100", true, "h100_sxm_gemm_vllm_0.24.0.csv.gz", "h100_sxm_comm_nccl_2.29.2.csv.gz", 700.0},
    {"h100-96gb", true, "h100_sxm_gemm_vllm_0.24.0.csv.gz", "h100_sxm_comm_nccl_2.29.2.csv.gz", 500.0},
    {"h200", true, "h200_sxm_gemm_vllm_0.24.0.csv.gz", "h200_sxm_comm_nccl_2.29.2.csv.gz"},
}};

Datasheet a100(const char* name, double gib, double hbm) {
  const std::string s = "datasheet";
  using graph::DType;
  return {.name = name, .sms = {108, s}, .clock_hz = {1.41e9, s}, .memory = {Bytes(gib * 1073741824.0), "memory-reported"}, .hbm_bandwidth = {BytesPerSecond(hbm), s},
          .l2 = {Bytes(40.0 * 1048576.0), s},
          .peak = {{DType::bfloat16, {FlopsPerSecond(312e12), s}}, {DType::float16, {FlopsPerSecond(312e12), s}}, {DType::float32, {FlopsPerSecond(156e12), s}},
                   {DType::float64, {FlopsPerSecond(19.5e12), s}}, {DType::int8, {FlopsPerSecond(624e12), s}}},
          .vector_peak = {FlopsPerSecond(19.5e12), s}};
}

Datasheet hopper(const char* name, double memory_bytes, double hbm) {
  const std::string s = "datasheet";
  using graph::DType;
  return {.name = name, .sms = {132, s}, .clock_hz = {1.83e9, s}, .memory = {Bytes(memory_bytes), "memory-reported"}, .hbm_bandwidth = {BytesPerSecond(hbm), s},
          .l2 = {Bytes(50.0 * 1048576.0), s},
          .peak = {{DType::bfloat16, {FlopsPerSecond(989.4e12), s}}, {DType::float16, {FlopsPerSecond(989.4e12), s}}, {DType::float32, {FlopsPerSecond(494.7e12), s}},
                   {DType::float64, {FlopsPerSecond(66.9e12), s}}, {DType::float8_e4m3fn, {FlopsPerSecond(1978.9e12), s}}, {DType::float8_e5m2, {FlopsPerSecond(1978.9e12), s}},
                   {DType::int8, {FlopsPerSecond(1978.9e12), s}}},
          .vector_peak = {FlopsPerSecond(66.9e12), s}};
}

}  // namespace

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const GpuFacts& f : kFacts) names.emplace_back(f.name);
  return names;
}

const GpuFacts& gpu_facts(std::string_view name) {
  for (const GpuFacts& f : kFacts) {
    if (f.name == name) return f;
  }
  throw InputError({.file = "profile name", .where = "", .found = "\"" + std::string(name) + "\"", .expected = "a100-80gb, a100-40gb, h100, h100-96gb or h200", .hint = ""});
}

Datasheet datasheet(std::string_view name) {
  if (name == "a100-80gb") return a100("NVIDIA A100-SXM4-80GB", 79.15, 2.039e12);
  if (name == "a100-40gb") return a100("NVIDIA A100-SXM4-40GB", 39.39, 1.555e12);
  if (name == "h100-96gb") return hopper("NVIDIA H100 SXM5 96GB (HBM2e, 500 W)", 94.5 * 1073741824.0, 2.4e12);
  if (name == "h100") return hopper("NVIDIA H100 SXM5 80GB", 79.11 * 1073741824.0, 3.35e12);
  return hopper("NVIDIA H200 SXM 141GB", 150109880320.0, 4.8e12);
}

MatmulModel product_model(bool is_hopper) {
  MatmulModel m{.dtype = graph::DType::bfloat16, .tiles = {}, .wave_weight = 0.0, .partial_wave_weight = 0.0, .k_overhead = 0.0, .math_efficiency = 0.8,
                .memory_efficiency = 0.9, .sharpness = 8.0, .fixed = 3.0_us, .nn_factor = 1.0, .nt_factor = 1.0, .unaligned_factor = 1.0, .sigma = 0.1, .source = "product-bound"};
  if (is_hopper) return m;
  m.tiles = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.82}, {256, 64, 0.8}, {64, 256, 0.8}, {128, 64, 0.67}, {64, 128, 0.67}, {64, 64, 0.55}};
  m.wave_weight = 0.7;
  m.partial_wave_weight = 0.75;
  m.k_overhead = 64.0;
  m.memory_efficiency = 0.94;
  m.fixed = 2.4_us;
  return m;
}

Thinning product_thinning(bool is_hopper) {
  return {.m = {16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328, 3584, 3840, 4096, 4352, 8192, 16384, 32768},
          .n = {32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384, 65536},
          .k = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536},
          .bandwidth_mn = is_hopper ? 0.3 : 0.15,
          .bandwidth_k = 0.7};
}

}  // namespace sgsim::cost::make
