#pragma once

#include <string>

namespace sgsim::scenario {

/// Whether a scenario can have a member at this path ("training.stack.fused_kernels"), by the schema of the data folder
/// (schema/scenario.schema.json). Below `model.config` everything can. Throws InputError where the schema cannot be read.
[[nodiscard]] bool is_scenario_path(const std::string& path);

}  // namespace sgsim::scenario
