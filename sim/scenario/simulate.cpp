#include "sim/scenario/simulate.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/scenario/summarize.h"

namespace sgsim::scenario {

Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine, const EngineRequest& request) {
  auto lowered = lower::lower({.graph = *inputs.graph,
                               .model = inputs.shape,
                               .plan = scenario.plan,
                               .training = scenario.training,
                               .cluster = scenario.cluster,
                               .profile = *inputs.profile});
  if (auto* violations = std::get_if<std::vector<plan::Violation>>(&lowered)) return std::move(*violations);
  Run run;
  run.lowered = std::get<lower::Lowered>(std::move(lowered));
  run.simulation = engine(std::move(run.lowered.workload), scenario.cluster, request);
  run.lowered.workload = {};
  run.result = summarize(scenario, inputs, run.lowered, run.simulation);
  return run;
}

Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine) {
  return simulate(scenario, inputs, engine, {.choice = scenario.engine, .record = Record::nothing, .rank = {}});
}

}  // namespace sgsim::scenario
