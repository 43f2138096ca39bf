#pragma once

#include <optional>
#include <string_view>

#include "sim/cluster/cluster.h"
#include "sim/core/diagnostics.h"

namespace sgsim::import::nccl_topo {

/// The builtin cluster whose GPU a PCI device id of NVIDIA (0x10de) stands for: "0x20b2" is A100-SXM4-80GB.
/// Source: the PCI ID repository. Empty for others.
[[nodiscard]] std::string_view builtin_of_device(std::string_view device);
/// Likewise from what `nvidia-smi` calls it, or a profiler: "NVIDIA H100 80GB HBM3".
[[nodiscard]] std::string_view builtin_of_name(std::string_view name);

/// Raw bandwidth of one NVLink in one direction by compute capability ("sm" times ten, 80 is A100): NVLink 2 to 4
/// 25 GB/s (V100, A100, H100 datasheets), NVLink 1 20 GB/s, NVLink 5 50 GB/s (B200). Zero for others.
[[nodiscard]] BytesPerSecond nvlink_bandwidth(int sm);

}  // namespace sgsim::import::nccl_topo
