#pragma once

#include <string>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::kineto {

/// Kineto / torch.profiler traces (Chrome trace events), PyTorch 1.x to 2.x: docs/import.md.
[[nodiscard]] Format format();

/// Reads traces, a rank a file, in bounded memory (about 40 bytes an event beside the names); several runs where the files contradict each other
/// (runs/apart.h), each told in the report of the later one ("import.kineto.other_run").
/// Throws InputError where a file is no such trace; odd records are repaired or dropped and counted in the report.
[[nodiscard]] std::vector<trace::ImportedRun> read_runs(const std::vector<std::string>& paths, const Progress& progress);
/// The same where all must be of one run: several are an InputError.
[[nodiscard]] trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress);

}  // namespace sgsim::import::kineto
