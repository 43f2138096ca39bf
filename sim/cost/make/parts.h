#pragma once

#include <string>
#include <vector>

#include "sim/cost/make/datasheets.h"
#include "sim/cost/make/traces.h"
#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// What the traced H200 runs show, read once.
struct Traces {
  std::vector<Traced<graph::Matmul>> products;
  std::vector<Traced<graph::Attention>> attention;
  std::vector<Traced<graph::Convolution>> convolutions;
  std::vector<TracedBytes> bytes;
};

[[nodiscard]] Traces read_traces(const std::string& truth_dir);

inline constexpr const char* kTorch = "PyTorch 2.11.0+cu130, CUDA 13.0";
inline constexpr const char* kLicence = "NVIDIA AIConfigurator's table, Apache-2.0 (docs/NOTICE.md)";

/// "3.2 %".
[[nodiscard]] std::string percent(double share);
/// Provenance of something read off the traced runs.
[[nodiscard]] Provenance traced(std::string note);

// Each adds its part of a profile and where it came from. Order: products before layouts.
void add_products(Profile& p, const GpuFacts& facts, const std::string& truth_dir);
void add_fp8(Profile& p, const GpuFacts& facts, const std::string& truth_dir);
/// Layouts, alignment and TF32 from the traces.
void add_layouts(Profile& p, const Traces& traces);
void add_attention(Profile& p, const std::string& truth_dir, const Traces& traces);
void add_memory(Profile& p, const Traces& traces, bool h200);
void add_convolutions(Profile& p, const Traces& traces, bool h200);
/// In place of the parts above up to memory, for a Hopper GPU that cannot be measured: products over their bound, attention, bandwidth-bound
/// kernels by HBM bandwidth, power and host as sgsim-calibrate and PyTorch measured them on an H200 of the same SMs; energies as shares of a
/// limit of `watts` instead of `measured_watts`.
void carry_from_measured(Profile& p, const Profile& measured, double watts, double measured_watts);
void add_collectives(Profile& p, const GpuFacts& facts, const std::string& truth_dir);

}  // namespace sgsim::cost::make
