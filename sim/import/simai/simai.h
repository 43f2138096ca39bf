#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::simai {

/// Workload text of ASTRA-sim 1, SimAI and AICB (a policy line, a layer count, a line a layer), and AICB's communication
/// lists (comma-separated, "comm_type,comm_group,..."). docs/formats/import.md.
[[nodiscard]] Format format();

/// One rank without times: a device operation for each pass of each layer and for each communication, in the order in which
/// the policy runs them (forward in order; backward in reverse, input gradient before weight gradient), with edges: a
/// communication after its computation, the next computation after the communication of a forward or input-gradient pass.
/// Compute times are nanoseconds. Throws InputError with the line.
[[nodiscard]] trace::ImportedRun parse_workload(std::string_view text, const std::string& file);

/// One rank's communications in list order; with their measured time where the list has it (milliseconds in the file).
[[nodiscard]] trace::ImportedRun parse_list(std::string_view text, const std::string& file);

}  // namespace sgsim::import::simai
