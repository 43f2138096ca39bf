#include "planner/search/segment_table.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/lower/segment/cut.h"
#include "sim/lower/segment/equal_layers.h"

namespace sgsim::search {

namespace segment = lower::segment;

std::shared_ptr<const lower::SegmentedModel> SegmentTable::get(const std::shared_ptr<const graph::OperatorGraph>& graph, const plan::ModelShape& model, const plan::Plan& plan,
                                                               const lower::Training& training) {
  SGSIM_CHECK(plan.recompute_layers == 0, "a segment table is asked for models that recompute all layers or none");
  const bool across = lower::fuses_across_layers(plan, training);
  const ShortKey of_graph{.graph = graph.get(), .across = across};
  const Key key{.graph = of_graph, .tp = plan.tp, .cp = plan.cp, .ep = plan.ep, .sequence_parallel = plan.sequence_parallel, .recompute = plan.recompute};
  return models_.get(key, [&] {
    const auto shorter = short_.get(of_graph, [&] {
      const segment::Cut cut = segment::cut(*graph);
      const segment::Layers layers = segment::find_equal_layers(*graph, cut);
      auto made = std::make_shared<Short>();
      made->whole = graph;
      made->reduced = segment::reduce(*graph, cut, layers, segment::shorten(layers, across), across);
      made->flops = segment::model_flops(made->reduced.graph, segment::cut(made->reduced.graph), made->reduced.times, model.heads);
      return std::shared_ptr<const Short>(std::move(made));
    });
    auto result = std::make_shared<lower::SegmentedModel>(lower::segment_model(shorter->reduced.graph, model, plan, training));
    const std::vector<std::uint32_t> order = std::move(result->order);
    result->order.clear();
    for (const std::uint32_t at : shorter->reduced.stands_for) result->order.push_back(order.at(at));
    result->model_flops = shorter->flops.total;
    result->above_diagonal_flops = shorter->flops.above_diagonal;
    return std::shared_ptr<const lower::SegmentedModel>(std::move(result));
  });
}

}  // namespace sgsim::search
