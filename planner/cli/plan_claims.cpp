#include "planner/cli/plan_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/checker/plan_checker.h"
#include "planner/search/plan_words.h"
#include "planner/search/report.h"
#include "sim/core/error.h"
#include "sim/graph/dtype.h"
#include "sim/graph/trained.h"
#include "sim/lower/data_parallel/state_types.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/names.h"

namespace sgsim::cli {
namespace {

/// Elements of all parameters, or of those that are trained.
double parameters_of(const graph::OperatorGraph& graph, bool trained) {
  double elements = 0.0;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != graph::NodeKind::parameter) continue;
    if (!trained || graph::is_trained(graph, NodeId{i})) elements += static_cast<double>(graph.nodes[i].outputs.at(0).elements());
  }
  return elements;
}

checker::Claim claim_of(const scenario::Scenario& s, const scenario::Inputs& inputs, const search::SearchResult& result, Bytes gpu_memory, double margin, const search::Found& found) {
  const plan::Plan& p = found.candidate.plan;
  const plan::ModelShape& m = inputs.shape;
  checker::Claim c{.layers = m.layers, .heads = m.heads, .kv_heads = m.kv_heads, .ffn = m.ffn, .sequence = m.sequence, .experts = m.experts, .parameters = parameters_of(*inputs.graph, false), .trained = parameters_of(*inputs.graph, true),
                   .flops_a_sample = result.flops_a_sample.value(), .gpus = found.candidate.nodes * s.cluster.node.gpus, .gpu_memory = gpu_memory.value(),
                   .sharding = std::string(scenario::name_of<plan::Sharding>(scenario::words::kSharding, p.sharding)),
                   .schedule = std::string(scenario::name_of<plan::Schedule>(scenario::words::kSchedule, p.schedule))};
  const auto peak = inputs.profile->gpu.peak.find(s.training.compute_dtype);
  if (peak != inputs.profile->gpu.peak.end()) c.gpu_flops = peak->second.value.value();
  c.dp = p.dp, c.tp = p.tp, c.pp = p.pp, c.cp = p.cp, c.ep = p.ep;
  c.shard_group = p.fsdp.shard_group;
  c.resharded = lower::fully_sharded(p.sharding) && p.fsdp.reshard_after_forward;
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

std::size_t check_claims(const scenario::Scenario& s, const scenario::Inputs& inputs, const search::SearchResult& result, double margin, std::size_t top, const std::vector<search::WhatIf>& what_if) {
  std::size_t accepted = 0;
  const auto check = [&](const search::Found& found, Bytes gpu_memory) {
    const auto wrong = checker::check(claim_of(s, inputs, result, gpu_memory, margin, found));
    if (!wrong.empty()) throw InternalError("the independent checker refuses \"" + search::short_text(found.candidate) + "\": " + wrong.front());
    ++accepted;
  };
  const Bytes memory = s.cluster.node.gpu.memory;
  for (std::size_t i = 0; i < std::min(top, result.ranked.size()); ++i) check(result.ranked[i], memory);
  if (const search::Found* second = search::runner_up(result)) check(*second, memory);
  for (const search::Found& found : result.front) check(found, memory);
  for (const search::WhatIf& w : what_if) {
    if (w.best) check(*w.best, w.gpu_memory);
  }
  return accepted;
}

std::string claims_text(const search::SearchResult& result, std::size_t top, const std::vector<search::WhatIf>& what_if) {
  const std::size_t best = std::min(top, result.ranked.size()), front = std::min(search::kFrontLines, result.front.size());
  const auto changed = static_cast<std::size_t>(std::count_if(what_if.begin(), what_if.end(), [](const search::WhatIf& w) { return w.best.has_value(); }));
  const std::size_t second = search::runner_up(result) != nullptr ? 1 : 0;
  if (best + front + changed == 0) return "no plan was printed, and none checked\n";
  std::string text = fmt::format("{} lines with plans above, each accepted by the independent checker: {} of the best{}, {} of the front", best + second + front + changed, best, second > 0 ? ", the runner-up" : "", front);
  if (changed > 0) text += fmt::format(", {} of what would change it", changed);
  if (result.front.size() > front) text += fmt::format("; so are the {} of the front that are not shown", result.front.size() - front);
  return text + "\n";
}

}  // namespace sgsim::cli
