#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sgsim::calibrate {

/// One GPU as it is, by NVML and CUDA.
struct GpuInfo {
  std::string name;                 // "NVIDIA H200"
  std::string compute_capability;   // "9.0"
  int sms = 0;
  std::int64_t memory_bytes = 0, l2_bytes = 0;
  int max_sm_clock_mhz = 0, max_memory_clock_mhz = 0;
  double power_limit_w = 0.0;
  int nvlinks = 0;                  // active ones
  int nvlink_version = 0;           // NVML's number
  int pcie_generation = 0, pcie_width = 0;
  bool mig = false;
  bool operator==(const GpuInfo&) const = default;
};

/// What a GPU is doing this moment.
struct GpuState {
  int sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0.0;
  std::uint64_t throttle_reasons = 0;  // NVML's bits
  bool operator==(const GpuState&) const = default;
};

/// Why a GPU runs below its clock, in words ("power cap", "thermal"); empty when nothing but idleness holds it back.
[[nodiscard]] std::string throttle_text(std::uint64_t reasons);

/// Everything about the machine that a measurement depends on.
struct Machine {
  std::string host_cpu;                            // model name
  int host_cores = 0;
  std::string driver;
  std::map<std::string, std::string> libraries;    // "cuda_runtime" -> "13.0", "nccl", "cublas", "cudnn", "cupti"
  std::vector<GpuInfo> gpus;
  std::string topology_xml;                        // as NCCL sees PCIe, NVLink and NICs; empty before a communicator exists
  std::string date;                                // of the run, ISO
  bool operator==(const Machine&) const = default;
};

/// What NVML says, or a fake in tests.
class MachineSource {
 public:
  virtual ~MachineSource() = default;
  [[nodiscard]] virtual Machine describe() = 0;
  /// Nothing when the driver does not say.
  [[nodiscard]] virtual std::optional<GpuState> state(int gpu) = 0;
};

}  // namespace sgsim::calibrate
