#pragma once

#include "sim/cluster/cluster.h"
#include "sim/compile/kernel.h"
#include "sim/lower/memory/replay.h"

namespace sgsim::lower {

/// Runtime memory of one rank on `gpu` whose program uses `communicators` communicators of two ranks or more.
[[nodiscard]] RuntimeMemory runtime_memory(const cluster::Gpu& gpu, int communicators, compile::Execution execution);

}  // namespace sgsim::lower
