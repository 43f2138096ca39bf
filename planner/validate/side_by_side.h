#pragma once

#include "planner/validate/executable.h"

namespace sgsim::validate {

/// How much longer a kernel takes beside a transfer of NCCL inside a node. The profile's factors for its kind; products moreover by their
/// waves of thread blocks: NCCL holds SMs, and a product whose tiles filled two waves of all SMs needs three of the rest. The measured
/// factor of products is that of the shape it was measured with (8192 x 8192 x 8192).
[[nodiscard]] double slowdown_beside_transfer(const cost::Profile& profile, const graph::Work& work);

/// Sets Program::compute_slowdown of `workload` to the mean over the kernels that ran beside transfers in `prepared` (the same
/// workload, simulated), by their time there. Programs in which nothing did keep theirs.
void slow_beside_transfers(const Prepared& prepared, const cost::Profile& profile, lower::Workload& workload);

/// Kernels of two streams do not run side by side: whichever came first fills the GPU until it ends (sgsim-calibrate waives that measurement
/// for this reason). Makes the main stream's runs of `workload` longer by what kernels of other streams ran meanwhile in `prepared`.
void take_turns(const Prepared& prepared, lower::Workload& workload);

}  // namespace sgsim::validate
