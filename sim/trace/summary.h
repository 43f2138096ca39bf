#pragma once

#include <string>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// What was read, a line a rank and a line a kind of collective.
[[nodiscard]] std::string summary_text(const ImportedRun& run);

/// The counters by severity with an example each; without `all`, warnings and errors only.
[[nodiscard]] std::string report_text(const Diagnostics& report, bool all);

}  // namespace sgsim::trace
