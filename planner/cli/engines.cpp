#include "planner/cli/engines.h"

#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/engine/engine.h"

namespace sgsim::cli {
namespace {

engine::Options options_of(const scenario::EngineRequest& request, const engine::Folded& folded) {
  engine::Options options;
  options.all_spans = request.record == scenario::Record::everything;
  std::set<std::uint32_t> classes;
  for (const RankId rank : request.ranks) {
    SGSIM_CHECK(rank.value < folded.class_of.size(), "no rank " + std::to_string(rank.value));
    classes.insert(folded.class_of[rank.value]);
  }
  options.spans_of.assign(classes.begin(), classes.end());
  return options;
}

bool simulates_every_rank(const cluster::Cluster& cluster, const scenario::EngineChoice& choice) {
  return choice.full || (choice.name == scenario::EngineName::simgrid && cluster.nodes > 1);
}

}  // namespace

scenario::Simulation run_engine(lower::Workload workload, const cluster::Cluster& cluster, const scenario::EngineRequest& request) {
  engine::Folded folded = simulates_every_rank(cluster, request.choice) ? engine::unfolded(std::move(workload)) : engine::fold(std::move(workload));
  const engine::Options options = options_of(request, folded);
  timeline::Timeline timeline = request.choice.name == scenario::EngineName::fast ? engine::run_fast(folded, options)
                                                                                 : engine::run_simgrid(folded, cluster, options);
  return {.workload = std::move(folded.workload), .class_of = std::move(folded.class_of), .timeline = std::move(timeline)};
}

}  // namespace sgsim::cli
