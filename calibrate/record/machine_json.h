#pragma once

#include <nlohmann/json.hpp>

#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

/// A machine as samples and measured programs hold it. For .cpp files only (it pulls in nlohmann/json).
[[nodiscard]] nlohmann::json write_machine(const Machine& machine);
[[nodiscard]] Machine read_machine(const nlohmann::json& json);

}  // namespace sgsim::calibrate
