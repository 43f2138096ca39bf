#include "sim/lower/segments.h"

#include <algorithm>
#include <utility>

#include "sim/compile/passes.h"
#include "sim/lower/segment/assemble.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segment/equal_layers.h"
#include "sim/lower/segment/model_flops.h"
#include "sim/lower/segment/reduce.h"

namespace sgsim::lower {
namespace {

segment::Marks no_marks(const graph::OperatorGraph& graph) {
  segment::Marks marks;
  marks.recomputed.assign(graph.nodes.size(), false);
  marks.tensor_sharded.assign(graph.nodes.size(), false);
  marks.expert.assign(graph.nodes.size(), false);
  return marks;
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
  return training.execution != compile::Execution::eager && !unit_by_unit;
}

SegmentedModel segment_model(const graph::OperatorGraph& graph, const plan::ModelShape& model, const plan::Plan& plan,
                             const Training& training) {
  (void)model;
  SegmentedModel result;
  const bool across = fuses_across_layers(plan, training);
  const segment::Cut whole = segment::cut(graph);
  const segment::Layers layers = segment::find_equal_layers(graph, whole);
  segment::Reduced reduced = segment::reduce(graph, whole, layers, segment::shorten(layers, across), across);
  result.model_flops = segment::model_flops(reduced.graph, segment::cut(reduced.graph), reduced.times);

  graph::OperatorGraph work = std::move(reduced.graph);
  if (training.autocast) work = compile::autocast(work, training.compute_dtype);
  const segment::Marks marks = no_marks(work);
  const segment::Cut cut = segment::cut(work);
  const compile::CompiledGraph compiled = compile::compile(work, training.execution, result.diagnostics);
  keep_distinct(segment::assemble(compiled, cut, marks), reduced.stands_for, result);
  result.modules = compiled.graph.modules;
  return result;
}

}  // namespace sgsim::lower
