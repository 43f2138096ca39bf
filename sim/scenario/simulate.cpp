#include "sim/scenario/simulate.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/scenario/summarize.h"

namespace sgsim::scenario {
namespace {

/// The first rank whose program takes the most memory.
RankId fullest_rank(const lower::Lowered& lowered) {
  RankId fullest{0};
  Bytes most;
  for (std::uint32_t r = 0; r < lowered.workload.ranks.size(); ++r) {
    const std::uint32_t program = lowered.workload.ranks[r].program.value;
    if (program >= lowered.memory.size() || lowered.memory[program].reserved <= most) continue;
    most = lowered.memory[program].reserved;
    fullest = RankId{r};
  }
  return fullest;
}

}  // namespace

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
  EngineRequest resolved = request;
  if (request.record == Record::fullest_rank) {
    resolved.record = Record::one_rank;
    resolved.rank = fullest_rank(run.lowered);
  }
  run.simulation = engine(std::move(run.lowered.workload), scenario.cluster, resolved);
  run.lowered.workload = {};
  run.result = summarize(scenario, inputs, run.lowered, run.simulation);
  if (request.record == Record::one_rank) run.result.asked = {rank_result(run.lowered, run.simulation, request.rank)};
  return run;
}

Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine) {
  return simulate(scenario, inputs, engine, {.choice = scenario.engine, .record = Record::nothing, .rank = {}});
}

}  // namespace sgsim::scenario
