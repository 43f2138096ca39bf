#pragma once

#include <string>
#include <vector>

#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

/// What is worth saying about a GPU's clocks over one run of the program (`states` in time order): throttling, an SM clock
/// that moved by more than 3 % between the first and the last third, more than 10 degrees of warming. Empty when nothing is.
[[nodiscard]] std::vector<std::string> clock_findings(const std::vector<GpuState>& states);

}  // namespace sgsim::calibrate
