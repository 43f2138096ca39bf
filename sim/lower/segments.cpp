#include "sim/lower/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/compile/passes.h"
#include "sim/lower/recompute/attention_core.h"
#include "sim/lower/recompute/recompute.h"
#include "sim/lower/segment/assemble.h"
#include "sim/lower/segment/compile_apart.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segment/equal_layers.h"
#include "sim/lower/segment/fused_kernels.h"
#include "sim/lower/segment/fused_loss.h"
#include "sim/lower/segment/model_flops.h"
#include "sim/lower/segment/reduce.h"
#include "sim/lower/shard/context.h"
#include "sim/lower/shard/experts.h"
#include "sim/lower/shard/routing.h"
#include "sim/lower/shard/shard.h"

namespace sgsim::lower {
namespace {

/// A graph on its way through the passes of lowering, with what is known of its nodes.
struct Work {
  graph::OperatorGraph graph;
  std::vector<bool> tensor_sharded;  // by node
  std::vector<bool> expert;          // by node
  std::vector<bool> recomputed;      // by node
};

void apply_expert_parallel(Work& work, const plan::ModelShape& model, const plan::Plan& plan) {
  work.expert.assign(work.graph.nodes.size(), false);
  if (plan.ep == 1) return;
  shard::ExpertSharded sharded = shard::shard_experts(work.graph, model.experts, plan.ep);
  work.graph = std::move(sharded.graph);
  work.expert = std::move(sharded.expert);
}

/// Marks of parameters carried to another graph that has the same parameters in the same order.
std::vector<bool> carried(const std::vector<bool>& marks, const graph::OperatorGraph& from, const graph::OperatorGraph& to) {
  std::vector<bool> of_parameters, result;
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    if (from.nodes[i].kind == graph::NodeKind::parameter) of_parameters.push_back(marks[i]);
  }
  std::size_t next = 0;
  for (const graph::Node& node : to.nodes) result.push_back(node.kind == graph::NodeKind::parameter && of_parameters.at(next++));
  return result;
}

/// States what tensor parallelism leaves whole, where that is more than the products of a router or a padded vocabulary.
void note_whole_work(Flops undivided, Flops of_one_rank, int tp, std::vector<plan::Note>& notes) {
  constexpr double kAlmostAll = 0.99;
  const double divided = (1.0 - of_one_rank / undivided) / (1.0 - 1.0 / tp);
  if (!(undivided.value() > 0.0) || divided >= kAlmostAll) return;
  notes.push_back({"tensor_parallel_leaves_whole",
                   fmt::format("tensor parallel {} divides {:.1f} % of the arithmetic of products, attention and convolutions; each rank computes the rest whole", tp,
                               100.0 * std::max(0.0, divided))});
}

void apply_context_parallel(Work& work, const plan::Plan& plan, const Stack& stack, SegmentedModel& result) {
  if (plan.cp == 1) return;
  shard::ContextSharded sharded = shard::shard_context(work.graph, {.cp = plan.cp, .all_gather = stack.context_parallel_all_gather});
  work.graph = std::move(sharded.graph);
  result.diagnostics.merge(sharded.diagnostics);
}

void apply_tensor_parallel(Work& work, const plan::ModelShape& model, const plan::Plan& plan, const Stack& stack,
                           const std::vector<std::uint32_t>& times, SegmentedModel& result) {
  work.tensor_sharded.assign(work.graph.nodes.size(), false);
  if (plan.tp == 1) return;
  const shard::Options options{.tp = plan.tp, .sequence_parallel = plan.sequence_parallel,
                               .vocabulary_parallel = stack.tensor_parallel_vocabulary,
                               .reduce_each_product = stack.tensor_parallel_reduces_each,
                               .overlap_weight_gradients = stack.tensor_parallel_overlap};
  shard::Sharded sharded = shard::shard_tensor_parallel(work.graph, model, options);
  note_whole_work(segment::model_flops(work.graph, segment::cut(work.graph), times, 0).total,
                  segment::model_flops(sharded.graph, segment::cut(sharded.graph), times, 0).total, plan.tp, result.notes);
  work.expert = carried(work.expert, work.graph, sharded.graph);
  work.graph = std::move(sharded.graph);
  work.tensor_sharded = std::move(sharded.tensor_sharded);
  result.notes.insert(result.notes.end(), sharded.notes.begin(), sharded.notes.end());
  result.diagnostics.merge(sharded.diagnostics);
}

void apply_recompute(Work& work, const plan::Plan& plan, compile::Execution execution, SegmentedModel& result) {
  work.recomputed.assign(work.graph.nodes.size(), false);
  if (plan.recompute == plan::Recompute::none) return;
  const segment::Cut cut = segment::cut(work.graph);
  const std::vector<plan::Recompute> choice(cut.count(), plan.recompute);
  recompute::Recomputed done = recompute::recompute(work.graph, cut, choice, execution == compile::Execution::eager);
  std::vector<bool> sharded, expert;
  for (std::uint32_t source : done.source) {
    sharded.push_back(work.tensor_sharded[source]);
    expert.push_back(work.expert[source]);
  }
  work = {std::move(done.graph), std::move(sharded), std::move(expert), std::move(done.again)};
  result.notes.insert(result.notes.end(), done.notes.begin(), done.notes.end());
}

/// As a whole, or each position apart where kernels must not cross; eager kernels where only the layers are compiled.
compile::CompiledGraph compiled_graph(const graph::OperatorGraph& graph, const segment::Cut& cut, const Training& training,
                                      const std::vector<bool>& recomputed, bool across, Diagnostics& diagnostics) {
  if (training.execution == compile::Execution::eager) {
    compile::CompiledGraph compiled = training.stack.fused_kernels ? segment::compile_fused_kernels(graph, recomputed, diagnostics)
                                                                   : compile::compile(graph, training.execution, diagnostics);
    if (training.stack.fused_cross_entropy) segment::fuse_cross_entropy(compiled);
    return compiled;
  }
  if (across) return compile::compile(graph, training.execution, diagnostics);
  std::vector<compile::Execution> execution(cut.count(), training.execution);
  if (training.stack.compile_layers_only) execution.front() = execution.back() = compile::Execution::eager;
  return segment::compile_apart(graph, cut, execution, diagnostics);
}

/// Keeps one of equal segments and gives the order of the whole model.
void keep_distinct(std::vector<ModelSegment>&& all, const std::vector<std::uint32_t>& stands_for, SegmentedModel& model) {
  std::vector<std::uint32_t> index;
  for (ModelSegment& candidate : all) {
    std::uint32_t same = 0;
    while (same < model.segments.size() && !segment::same_segment(model.segments[same], candidate)) ++same;
    if (same == model.segments.size()) model.segments.push_back(std::move(candidate));
    index.push_back(same);
  }
  for (std::uint32_t at : stands_for) model.order.push_back(index[at]);
  std::size_t layers = 0;
  for (const ModelSegment& segment : model.segments) layers += segment.role == SegmentRole::layer ? 1 : 0;
  for (ModelSegment& segment : model.segments) {
    if (segment.role == SegmentRole::layer && layers == 1) segment.name = "layer";
  }
}

}  // namespace

bool fuses_across_layers(const plan::Plan& plan, const Training& training) {
  const bool unit_by_unit = plan.sharding == plan::Sharding::fsdp || plan.sharding == plan::Sharding::hybrid;
  return training.execution != compile::Execution::eager && !unit_by_unit && !training.stack.compile_layers_only;
}

namespace {

/// Rows sorted by expert, filled up where they are not as many for each.
bool padded_rows(const graph::OperatorGraph& graph, const graph::Node& pad) {
  bool sorted = false;
  graph::for_each_input(pad, [&](graph::ValueRef v) { sorted = sorted || graph.node(v.node).target == "aten.sort.default"; });
  return sorted;
}

/// Experts work on rows of their own in every sample's order: what does not divide, or is routed in a way that is not known, would gather whole sequences.
std::vector<plan::Violation> routing_violations(const graph::OperatorGraph& graph, const plan::Plan& plan) {
  const std::int64_t experts = shard::experts_of(graph);
  if (experts == 0) return {};
  const auto refused = [&](const std::string& why) {
    return std::vector<plan::Violation>{{"cp_with_experts", fmt::format("context parallel {} on a model with {} experts: {}; use cp = 1", plan.cp, experts, why)}};
  };
  for (const graph::Node& node : graph.nodes) {
    if (node.kind != graph::NodeKind::call) continue;
    if (node.target == "aten.constant_pad_nd.default" && padded_rows(graph, node)) return refused("the tokens do not divide evenly over the experts");
    if (node.target != "aten.sort.default" || node.outputs[0].shape.size() != 1) continue;
    const std::int64_t assigned = node.outputs[0].shape[0] / std::max<std::int64_t>(1, graph.micro_batch);  // of one sample, so that any micro-batch divides
    if (assigned % (experts * plan.cp) != 0) return refused(fmt::format("{} assignments of a sample's tokens do not divide over them and the ranks", assigned));
  }
  const auto sharded = shard::shard_context(graph, {.cp = plan.cp, .all_gather = false});
  const auto& entries = sharded.diagnostics.entries();
  if (entries.empty()) return {};
  return refused("its routing works on whole sequences (" + entries.begin()->second.example + "), which is not modelled");
}

}  // namespace

std::vector<plan::Violation> graph_violations(const graph::OperatorGraph& graph, const plan::Plan& plan) {
  if (plan.cp == 1) return {};
  if (graph.sequence == 0 || graph.sequence % (2 * plan.cp) != 0) {
    return {{"cp_divides_sequence", fmt::format("context parallel {}: the graph's {} tokens are no multiple of {} (two chunks a rank)", plan.cp, graph.sequence, 2 * plan.cp)}};
  }
  const std::vector<bool> core = recompute::attention_core(graph, segment::cut(graph));
  if (std::find(core.begin(), core.end(), true) == core.end()) return routing_violations(graph, plan);
  return {{"cp_needs_fused_attention", fmt::format("context parallel {}: attention is unfused, and blocks of keys can only be merged by the statistics of a fused kernel; use fused attention or cp = 1", plan.cp)}};
}

namespace {

SegmentedModel segment_uniform(const graph::OperatorGraph& graph, const plan::ModelShape& model, const plan::Plan& plan, const Training& training) {
  SegmentedModel result;
  const bool across = fuses_across_layers(plan, training);
  const segment::Cut whole = segment::cut(graph);
  const segment::Layers layers = segment::find_equal_layers(graph, whole);
  segment::Reduced reduced = segment::reduce(graph, whole, layers, segment::shorten(layers, across), across);
  const segment::ModelFlops flops = segment::model_flops(reduced.graph, segment::cut(reduced.graph), reduced.times, model.heads);
  result.model_flops = flops.total;
  result.above_diagonal_flops = flops.above_diagonal;

  Work work{.graph = std::move(reduced.graph), .tensor_sharded = {}, .expert = {}, .recomputed = {}};
  const bool lowers = training.autocast && training.compute_dtype != graph::DType::float32;  // as in PyTorch, autocast to float32 casts nothing
  if (lowers) work.graph = compile::autocast(work.graph, training.compute_dtype);
  apply_context_parallel(work, plan, training.stack, result);
  apply_expert_parallel(work, model, plan);
  apply_tensor_parallel(work, model, plan, training.stack, reduced.times, result);
  apply_recompute(work, plan, training.execution, result);
  const segment::Cut cut = segment::cut(work.graph);
  const compile::CompiledGraph compiled = compiled_graph(work.graph, cut, training, work.recomputed, across, result.diagnostics);
  const segment::Marks marks{.recomputed = std::move(work.recomputed), .tensor_sharded = std::move(work.tensor_sharded),
                             .expert = std::move(work.expert)};
  keep_distinct(segment::assemble(compiled, cut, marks), reduced.stands_for, result);
  result.modules = compiled.graph.modules;
  return result;
}

void shift_modules(std::vector<compile::Kernel>& kernels, std::uint32_t by) {
  for (compile::Kernel& kernel : kernels) kernel.module = ModuleId{kernel.module.value + by};
}

}  // namespace

SegmentedModel with_kept_layers(SegmentedModel recomputed, const SegmentedModel& kept) {
  const auto first_segment = static_cast<std::uint32_t>(recomputed.segments.size()), first_module = static_cast<std::uint32_t>(recomputed.modules.size());
  for (ModelSegment segment : kept.segments) {
    for (auto* list : {&segment.forward, &segment.recompute, &segment.backward}) shift_modules(*list, first_module);
    recomputed.segments.push_back(std::move(segment));
  }
  recomputed.modules.insert(recomputed.modules.end(), kept.modules.begin(), kept.modules.end());
  for (const std::uint32_t index : kept.order) recomputed.kept_order.push_back(first_segment + index);
  return recomputed;
}

SegmentedModel segment_model(const graph::OperatorGraph& graph, const plan::ModelShape& model, const plan::Plan& plan, const Training& training) {
  SegmentedModel recomputed = segment_uniform(graph, model, plan, training);
  if (plan.recompute_layers == 0) return recomputed;
  plan::Plan keeping = plan;
  keeping.recompute = plan::Recompute::none;
  return with_kept_layers(std::move(recomputed), segment_uniform(graph, model, keeping, training));
}

}  // namespace sgsim::lower
