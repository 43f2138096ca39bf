#pragma once

#include "sim/scenario/simulate.h"

namespace sgsim::cli {

/// The engines behind scenarios: folds where that is exact (never with `full`, and never where the reference engine shares
/// links between nodes), runs the chosen engine and records what was asked for.
[[nodiscard]] scenario::Simulation run_engine(lower::Workload workload, const cluster::Cluster& cluster,
                                              const scenario::EngineRequest& request);

}  // namespace sgsim::cli
