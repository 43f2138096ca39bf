#pragma once

#include <variant>
#include <vector>

#include "calibrate/record/program_file.h"
#include "sim/lower/lower.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/simulate.h"

namespace sgsim::validate {

/// The scenario as sgsim's own executor runs it: the optimizer and the collectives in the CUDA graph, no host synchronisation inside a
/// step.
[[nodiscard]] scenario::Scenario as_executed(scenario::Scenario scenario);

/// A step of every rank, lowered task by task and simulated with the fast engine; nothing folded.
struct Prepared {
  std::vector<lower::Memory> memory;       // by program
  scenario::Simulation simulation;         // its workload's kernels name their work by `work_of`
  std::vector<graph::Work> works;          // distinct ones
  Seconds gap;                             // between two kernels of a run, mean
  std::vector<double> clocks;              // by rank: over the full clock, at the power limit (at_power_limit.h)
};
/// Index in Prepared::works of a kernel of its workload.
[[nodiscard]] std::uint32_t work_of(const lower::KernelCost& kernel);

/// Lowers and simulates; an illegal plan comes back as its violations.
[[nodiscard]] std::variant<Prepared, std::vector<plan::Violation>> prepare(const scenario::Scenario& scenario, const scenario::Inputs& inputs, const scenario::RunEngine& engine);

/// The programs. Throws InputError for tasks that the executor does not have (copies to the host, host synchronisation).
[[nodiscard]] calibrate::ExecutableProgram executable(const scenario::Scenario& scenario, const scenario::Inputs& inputs, const Prepared& prepared);

}  // namespace sgsim::validate
