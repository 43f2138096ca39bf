#pragma once

#include "sim/import/format.h"

namespace sgsim::import::known {

/// Files that people have beside traces and that hold no run, graph or topology: archives, settings and tables of other
/// simulators, job traces, benchmark logs, generated code. Recognised so that the refusal says what the file is and what
/// to do instead; `read` always throws InputError.
[[nodiscard]] Format format();

}  // namespace sgsim::import::known
