#pragma once

#include <memory>

#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

/// The machine by NVML (loaded at run time; a build needs no NVML) and the CUDA runtime. GPUs in CUDA's order. Without
/// NVML the clocks, limits and links stay 0 and `state` gives nothing. Reads only; it changes no setting.
[[nodiscard]] std::unique_ptr<MachineSource> make_machine_source();

}  // namespace sgsim::calibrate
