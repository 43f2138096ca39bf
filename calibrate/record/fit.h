#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/record/samples_file.h"
#include "sim/cost/profile.h"

namespace sgsim::calibrate {

struct FitOptions {
  std::string name;                         // of the profile; empty: from the GPU's name
  std::optional<cost::Profile> base;        // what no single node measures: framework host costs, networks
  std::string samples_file;                 // for the provenance
  std::vector<std::filesystem::path> host_files = {};  // PyTorch's host costs (fit_host.h)
  bool native = false;                      // host costs of a native program, from the launch group, instead of a framework's
};

/// The profile of what was measured. Held-out points are not fitted; where they were measured, the tables say how well they
/// are predicted. Without a base, the GPU's datasheet and the constants that this project ships for its generation; throws
/// InputError for a GPU that it has none for, and for samples without a machine.
[[nodiscard]] cost::Profile fit_profile(const Samples& samples, const FitOptions& options);

// The parts, each replacing its share of `profile`; `source` is the provenance key of measured values.
void fit_products(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_attentions(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_bandwidth_curves(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_convolutions(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_collectives(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_host_copies(cost::Profile& profile, const Samples& samples, const std::string& source);
/// The launch model of a program that calls CUDA, cuBLAS and NCCL itself (sgsim's executor), from the times host.* and graph.*: a launch costs
/// host.kernel_enqueue, compiled an operator of a library host.library_enqueue, a collective host.collective_enqueue; nothing else.
/// Throws InputError where the profile has them not.
void native_launches(cost::Profile& profile);
void fit_launches(cost::Profile& profile, const Samples& samples, const std::string& source);
/// How much slower kernels are that run for half a second without a pause ("sustained.matmul"): at the power limit.
void fit_sustained(cost::Profile& profile, const Samples& samples, const std::string& source);
void fit_interference(cost::Profile& profile, const Samples& samples, const std::string& source);

/// Bytes that a bandwidth-bound point moved, as its case noted; the key's where it did not.
[[nodiscard]] double bytes_moved(const Measurement& measurement);

}  // namespace sgsim::calibrate
