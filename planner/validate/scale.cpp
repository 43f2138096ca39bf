#include "planner/validate/scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::validate {
namespace {

using plan::Plan;

[[noreturn]] void too_large(const scenario::Scenario& s, std::string found, std::string expected) {
  throw InputError({.file = s.file, .where = "$.plan", .found = std::move(found), .expected = std::move(expected), .hint = "scaling down keeps the shape of every kernel; a smaller plan is another question: --set plan.tp=..."});
}

/// Layers of one chunk of a stage; the largest where they are uneven.
std::int64_t layers_a_chunk(const Plan& p, std::int64_t layers) {
  if (!p.stage_layers.empty()) return *std::max_element(p.stage_layers.begin(), p.stage_layers.end());
  const std::int64_t chunks = std::int64_t{p.pp} * p.virtual_stages;
  return (layers + chunks - 1) / chunks;
}

void set_layers(scenario::Scenario& s, std::int64_t each) {
  s.model.layers = static_cast<int>(each * s.plan.pp * s.plan.virtual_stages);
  s.plan.stage_layers.clear();
}

void fewer_replicas(Scaled& scaled, int gpus, std::int64_t micro_batches) {
  Plan& p = scaled.scenario.plan;
  const int rest = p.tp * p.cp * p.pp;
  const int dp = std::max(1, std::min(p.dp, gpus / std::max(1, rest)));
  if (dp == p.dp) return;
  if (p.ep > 1 && dp % p.ep != 0) too_large(scaled.scenario, fmt::format("ep {} within {} data-parallel ranks that are left on {} GPUs", p.ep, dp, gpus), "an expert parallel size that divides them");
  scaled.changes.push_back(fmt::format("{} of {} data-parallel replicas", dp, p.dp));
  p.dp = dp;
  if (p.fsdp.shard_group > dp) p.fsdp.shard_group = dp;
  p.global_batch = micro_batches * p.micro_batch * dp;
}

void fewer_stages(Scaled& scaled, std::int64_t layers, int gpus) {
  Plan& p = scaled.scenario.plan;
  const int each_stage = p.tp * p.cp, pp = std::min(p.pp, gpus / each_stage);
  if (pp == p.pp) return;
  const std::int64_t chunk = layers_a_chunk(p, layers);
  scaled.changes.push_back(fmt::format("{} of {} pipeline stages, {} layers in each chunk as before", pp, p.pp, chunk));
  const std::int64_t of_stage = chunk * p.virtual_stages;
  p.pp = pp;
  if (pp == 1) {
    p.schedule = plan::Schedule::one_f_one_b;
    p.virtual_stages = 1;
    scaled.scenario.model.layers = static_cast<int>(of_stage);
    p.stage_layers.clear();
  } else {
    set_layers(scaled.scenario, chunk);
  }
}

void fewer_micro_batches(Scaled& scaled) {
  Plan& p = scaled.scenario.plan;
  const std::int64_t now = p.micro_batches(), wanted = std::max<std::int64_t>(2, std::int64_t{2} * p.pp);
  if (now <= wanted) return;
  scaled.changes.push_back(fmt::format("{} of {} micro-batches", wanted, now));
  p.global_batch = wanted * p.micro_batch * p.dp;
}

void fewer_layers(Scaled& scaled, const plan::ModelShape& shape, const Fits& fits) {
  scenario::Scenario& s = scaled.scenario;
  if (fits(s)) return;
  const std::int64_t layers = s.model.layers > 0 ? s.model.layers : shape.layers;
  if (s.model.kind != scenario::ModelKind::config) too_large(s, "a captured graph that does not fit in memory on so few GPUs", "a model configuration, whose layers can be left out");
  for (std::int64_t each = layers_a_chunk(s.plan, layers) - 1; each >= 1; --each) {
    set_layers(s, each);
    if (!fits(s)) continue;
    scaled.changes.push_back(fmt::format("{} of {} layers: as many as fit in memory", s.model.layers, layers));
    return;
  }
  too_large(s, "one layer a stage does not fit in the memory of these GPUs", "a smaller micro-batch, or recomputation");
}

}  // namespace

Scaled scale_to(const scenario::Scenario& scenario, const plan::ModelShape& shape, int gpus, const Fits& fits) {
  Scaled scaled{.scenario = scenario, .changes = {}};
  Plan& p = scaled.scenario.plan;
  SGSIM_CHECK(gpus >= 1, "a machine with GPUs");
  const int shaping = p.tp * p.cp;
  if (shaping > gpus) too_large(scenario, fmt::format("tp {} x cp {} on {} GPU{}", p.tp, p.cp, gpus, gpus == 1 ? "" : "s"), fmt::format("at least {} GPUs", shaping));
  const std::int64_t micro_batches = p.micro_batches();
  const std::int64_t layers = scenario.model.layers > 0 ? scenario.model.layers : shape.layers;
  if (p.world() > gpus) {
    fewer_replicas(scaled, gpus, micro_batches);
    fewer_stages(scaled, layers, gpus);
    fewer_micro_batches(scaled);
  }
  cluster::Cluster& c = scaled.scenario.cluster;
  c.nodes = 1;
  c.node.gpus = p.world();
  c.faults.clear();
  fewer_layers(scaled, shape, fits);
  return scaled;
}

}  // namespace sgsim::validate
