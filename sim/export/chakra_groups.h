#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::exporting {

/// What a communicator is called in Chakra files: ASTRA-sim reads names as whole numbers above 0, and one file holds all of a run.
[[nodiscard]] inline std::uint32_t chakra_group_number(std::uint32_t group) { return group + 1; }

/// The global ranks of a communicator; of one without a list those of the run where it has their number; nothing where neither tells.
[[nodiscard]] std::optional<std::vector<std::int32_t>> members_of(const trace::ImportedRun& run, const trace::Group& group);

}  // namespace sgsim::exporting
