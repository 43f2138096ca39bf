#pragma once

#include <string>
#include <vector>

#include "sim/trace/dependencies.h"
#include "sim/trace/match.h"

namespace sgsim::cli {

/// A run with its clocks aligned, its collectives matched and its dependencies recovered.
struct RecoveredRun {
  trace::ImportedRun run;
  trace::Matching matching;
  std::vector<trace::Dependencies> dependencies;  // by rank
};

/// The one run of a file or folder. Throws InputError where there is none, or more than one.
[[nodiscard]] trace::ImportedRun read_all_of_run(const std::string& path);
/// The one run of a file or folder, up to its last whole step where a file is cut. Throws InputError where there is none, or more than one.
[[nodiscard]] trace::ImportedRun read_run(const std::string& path);
[[nodiscard]] RecoveredRun read_recovered_run(const std::string& path);

}  // namespace sgsim::cli
