#pragma once

#include "sim/core/error.h"
#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// Whether any device operation of the run says when it began.
[[nodiscard]] bool has_start_times(const ImportedRun& run);

/// Why nothing of a rank can be replayed or compared: no device operation, none with a start time (files made for simulators), or times that overflow.
[[nodiscard]] InputError no_device_times(const ImportedRun& run, const RankTrace& rank);

}  // namespace sgsim::trace
