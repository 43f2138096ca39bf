#pragma once

#include <string>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::own_timeline {

/// Timelines of `sgsim simulate --trace` (docs/formats/trace.md): a rank a process, streams, kernels with phase, layer and
/// micro-batch, communications with group, size and peer. A communication's time is its transfer; waiting stands apart in the file.
[[nodiscard]] Format format();

/// Throws InputError where the file is no such timeline, or names a process or stream that it did not describe.
[[nodiscard]] trace::ImportedRun read(const std::string& path, const Progress& progress);

}  // namespace sgsim::import::own_timeline
