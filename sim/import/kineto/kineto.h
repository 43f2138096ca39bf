#pragma once

#include <string>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::kineto {

/// Kineto / torch.profiler traces (Chrome trace events), PyTorch 1.x to 2.x: docs/import.md.
[[nodiscard]] Format format();

/// Reads the traces of one run, a rank a file, in bounded memory (about 40 bytes an event beside the names).
/// Throws InputError where a file is no such trace; odd records are repaired or dropped and counted in the report.
[[nodiscard]] trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress);

}  // namespace sgsim::import::kineto
