#include "planner/cli/plan_claims.h"

#include <fmt/format.h>

#include "planner/checker/plan_checker.h"
#include "planner/search/plan_words.h"
#include "sim/core/error.h"
#include "sim/graph/dtype.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/names.h"

namespace sgsim::cli {
namespace {

double parameters_of(const graph::OperatorGraph& graph) {
  double elements = 0.0;
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::NodeKind::parameter) elements += static_cast<double>(node.outputs.at(0).elements());
  }
  return elements;
}

checker::Claim claim_of(const scenario::Scenario& s, const scenario::Inputs& inputs, const search::SearchResult& result, double margin, const search::Found& found) {
  const plan::Plan& p = found.candidate.plan;
  const plan::ModelShape& m = inputs.shape;
  checker::Claim c{.layers = m.layers, .heads = m.heads, .kv_heads = m.kv_heads, .ffn = m.ffn, .sequence = m.sequence, .experts = m.experts, .parameters = parameters_of(*inputs.graph),
                   .flops_a_sample = result.flops_a_sample.value(), .gpus = found.candidate.nodes * s.cluster.node.gpus, .gpu_memory = s.cluster.node.gpu.memory.value(),
                   .sharding = std::string(scenario::name_of<plan::Sharding>(scenario::words::kSharding, p.sharding)),
                   .schedule = std::string(scenario::name_of<plan::Schedule>(scenario::words::kSchedule, p.schedule))};
  const auto peak = inputs.profile->gpu.peak.find(s.training.compute_dtype);
  if (peak != inputs.profile->gpu.peak.end()) c.gpu_flops = peak->second.value.value();
  c.dp = p.dp, c.tp = p.tp, c.pp = p.pp, c.cp = p.cp, c.ep = p.ep;
  c.shard_group = p.fsdp.shard_group;
  c.virtual_stages = p.virtual_stages;
  c.sequence_parallel = p.sequence_parallel;
  c.micro_batch = p.micro_batch;
  c.global_batch = p.global_batch;
  c.stage_layers = p.stage_layers;
  c.recompute_layers = p.recompute_layers;
  c.recomputes = p.recompute != plan::Recompute::none;
  c.offload_optimizer = p.offload.optimizer;
  c.offload_activations = p.offload.activations;
  c.bytes_parameter = graph::size_of(s.training.autocast ? s.training.parameter_dtype : s.training.compute_dtype);
  c.bytes_optimizer = s.training.optimizer == lower::Optimizer::adamw ? 2.0 * graph::size_of(s.training.parameter_dtype) : 0.0;
  c.step_time = found.figures().step_time.value();
  c.memory = found.figures().reserved.value();
  c.memory_needed = found.figures().needed.value();
  c.memory_margin = margin;
  return c;
}

}  // namespace

std::size_t check_claims(const scenario::Scenario& s, const scenario::Inputs& inputs, const search::SearchResult& result, double margin, std::size_t top) {
  std::size_t accepted = 0;
  const auto check = [&](const search::Found& found) {
    const auto wrong = checker::check(claim_of(s, inputs, result, margin, found));
    if (!wrong.empty()) throw InternalError("the independent checker refuses \"" + search::short_text(found.candidate) + "\": " + wrong.front());
    ++accepted;
  };
  for (std::size_t i = 0; i < std::min(top, result.ranked.size()); ++i) check(result.ranked[i]);
  for (const search::Found& found : result.front) check(found);
  return accepted;
}

}  // namespace sgsim::cli
