#pragma once

#include <array>
#include <vector>

#include "sim/replay/rescale.h"
#include "sim/trace/kernel_kind.h"

namespace sgsim::replay {

/// Factor on the duration of each device operation of a rank, with the wanted tensor size on the wanted GPU: the cost model's time for the wanted work over its
/// time for the captured work, where the file tells the work (captured_work.h); else `by_kind` (Scaling::kernel_factors). Counts which in `report`.
[[nodiscard]] std::vector<double> kernel_factors(const trace::ImportedRun& run, const trace::RankTrace& rank, const std::array<double, trace::kKernelKinds>& by_kind, const Rescale& request, Diagnostics& report);

}  // namespace sgsim::replay
