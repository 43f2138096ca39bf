#pragma once

#include <string>
#include <string_view>

#include "sim/replay/rescale.h"

namespace sgsim::replay {

/// Builtin machines with a GPU of that name, "a, b"; empty: none.
[[nodiscard]] std::string machines_with(std::string_view gpu);

/// Throws InputError where the file names another GPU than the machine that it is said to come from: every factor would be of the wrong GPU.
/// A file that names none is counted ("import.rescale.captured_gpu_not_in_file").
void check_captured_gpu(const trace::ImportedRun& run, const cluster::Cluster& machine, Diagnostics& report);

}  // namespace sgsim::replay
