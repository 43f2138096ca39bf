#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::pytorch_et {

/// PyTorch execution traces (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1.
[[nodiscard]] Format format();

/// One rank: every node an operator without times, in the order in which they began; an edge from each node to its children
/// (control) and from the last leaf that wrote a tensor to each leaf that reads it (data); collectives with their sizes and
/// groups. The file does not say its rank. Throws InputError.
[[nodiscard]] trace::ImportedRun parse(std::string_view json, const std::string& file);

/// Adds what the execution trace of the same process knows to a profiler trace: sizes, types and groups of collectives,
/// shapes of operators, data edges. Ranks are paired by process id, operators by the order of their names; times stay the
/// profiler's. Counted in the report of `run` ("import.pytorch_et.merged_*"); a rank without partner is left as it is.
/// Where each side has one rank, of different process ids, less than half of whose operators are common (of the one with fewer), nothing is merged:
/// returned is why, else nothing.
std::string merge(trace::ImportedRun& run, const trace::ImportedRun& execution);
/// The same for several runs, each rank into the one that has its process.
std::string merge(const std::vector<trace::ImportedRun*>& runs, const trace::ImportedRun& execution);

}  // namespace sgsim::import::pytorch_et
