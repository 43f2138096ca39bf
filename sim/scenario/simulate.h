#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "sim/lower/lower.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/result.h"
#include "sim/scenario/scenario.h"
#include "sim/timeline/timeline.h"

namespace sgsim::scenario {

/// Which ranks' tasks are recorded beside the totals.
enum class Record : std::uint8_t {
  nothing,
  ranks,         // EngineRequest::ranks
  one_a_stage,   // the first rank of each stage and speed (`simulate` turns it into `ranks`)
  fullest_rank,  // of the class that takes the most memory (so does it this)
  everything,
};

struct EngineRequest {
  EngineChoice choice;
  Record record = Record::nothing;
  std::vector<RankId> ranks;  // real ranks; where ranks are folded, their classes are recorded
};

/// What an engine made of a workload.
struct Simulation {
  lower::Workload workload;              // as simulated: folded, or every rank
  std::vector<std::uint32_t> class_of;   // index of the simulated rank, by real rank
  timeline::Timeline timeline;
};

/// Runs a workload. The seam between scenarios and engines: planner/cli and the planner give one, tests fake it.
using RunEngine = std::function<Simulation(lower::Workload workload, const cluster::Cluster& cluster, const EngineRequest& request)>;

/// One simulated step with all that was learnt on the way.
struct Run {
  lower::Lowered lowered;  // its workload has moved into `simulation`
  Simulation simulation;
  Result result;
};

/// A run, or why the plan is not legal.
using Outcome = std::variant<Run, std::vector<plan::Violation>>;

/// Lowers and simulates one step. A plan that is legal but does not fit in memory still gives a run (Result::fits).
[[nodiscard]] Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine, const EngineRequest& request);
/// The same with the engine of the scenario and nothing recorded.
[[nodiscard]] Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine);

}  // namespace sgsim::scenario
