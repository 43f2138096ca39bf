#include "sim/scenario/simulate.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/scenario/labels.h"
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

/// The first rank of each stage and speed: what there is to see, drawn once.
std::vector<RankId> one_a_stage(const lower::Workload& workload) {
  std::set<std::pair<std::string, double>> seen;
  std::vector<RankId> ranks;
  for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const lower::RankBinding& rank = workload.ranks[r];
    if (seen.emplace(stage_name(workload.programs.at(rank.program.value).name), rank.speed).second) ranks.push_back(RankId{r});
  }
  return ranks;
}

EngineRequest resolved(const EngineRequest& request, const lower::Lowered& lowered) {
  EngineRequest r = request;
  if (request.record == Record::fullest_rank) r.ranks = {fullest_rank(lowered)};
  if (request.record == Record::one_a_stage) r.ranks = one_a_stage(lowered.workload);
  if (!r.ranks.empty()) r.record = Record::ranks;
  return r;
}

/// Programs are shortened (exactly: docs/lowering.md) for the fast engine where nobody looks at single tasks.
bool merges_lockstep(const EngineRequest& request) {
  const bool totals_only = request.record == Record::nothing || request.record == Record::fullest_rank;
  return totals_only && request.choice.name == EngineName::fast;
}

/// Passes of a layer through one micro-batch, over all stages: what programs grow with. Refused while it is a number: lowered
/// programs of 2 million take 12 s and of 4 million 25 s on one core.
void check_length(const Scenario& scenario, const plan::ModelShape& shape) {
  constexpr std::int64_t kMostPasses = 4'000'000;
  const std::int64_t passes = 2 * scenario.plan.micro_batches() * (shape.layers + 2);
  if (passes <= kMostPasses) return;
  throw InputError({.file = scenario.file, .where = "$.plan.global_batch",
                    .found = fmt::format("{}, which is {} micro-batches of {} layers, {} passes of a layer a step", scenario.plan.global_batch, scenario.plan.micro_batches(), shape.layers, passes),
                    .expected = fmt::format("at most {} passes", kMostPasses), .hint = "Raise plan.micro_batch, or simulate a shorter step: its time grows with the micro-batches"});
}

}  // namespace

Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine, const EngineRequest& request) {
  if (scenario.plan.micro_batch > 0 && scenario.plan.dp > 0) check_length(scenario, inputs.shape);
  auto lowered = lower::lower({.graph = *inputs.graph,
                               .model = inputs.shape,
                               .plan = scenario.plan,
                               .training = scenario.training,
                               .cluster = scenario.cluster,
                               .profile = *inputs.profile,
                               .merge_lockstep = merges_lockstep(request)});
  if (auto* violations = std::get_if<std::vector<plan::Violation>>(&lowered)) return std::move(*violations);
  Run run;
  run.lowered = std::get<lower::Lowered>(std::move(lowered));
  const EngineRequest engine_request = resolved(request, run.lowered);
  run.simulation = engine(std::move(run.lowered.workload), scenario.cluster, engine_request);
  run.lowered.workload = {};
  run.result = summarize(scenario, inputs, run.lowered, run.simulation);
  if (request.record == Record::ranks && request.ranks.size() == 1) {
    run.result.asked = {rank_result(run.lowered, run.simulation, request.ranks[0])};
  }
  return run;
}

Outcome simulate(const Scenario& scenario, const Inputs& inputs, const RunEngine& engine) {
  return simulate(scenario, inputs, engine, {.choice = scenario.engine, .record = Record::nothing, .ranks = {}});
}

}  // namespace sgsim::scenario
