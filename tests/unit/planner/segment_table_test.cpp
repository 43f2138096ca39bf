#include "planner/search/segment_table.h"

#include "sim/scenario/inputs.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

scenario::Scenario job(const std::string& model) {
  return scenario::scenario_from_text(R"({"schema_version": 1, "model": {"config": "models/)" + model + R"(.json", "sequence": 1024},
    "plan": {"dp": "fill", "sharding": "fsdp", "micro_batch": 1, "global_batch": 64}, "cluster": {"builtin": "dgx-h100", "nodes": 2}})",
                                      "job", std::string(SGSIM_SOURCE_DIR) + "/scenarios");
}

bool same_kernels(const std::vector<compile::Kernel>& a, const std::vector<compile::Kernel>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const compile::Communication &x = a[k].communication, &y = b[k].communication;
    if (a[k].is_communication != b[k].is_communication || a[k].inputs != b[k].inputs || a[k].phase != b[k].phase) return false;
    if (a[k].is_communication ? x.op != y.op || x.group != y.group || x.bytes != y.bytes : !(a[k].work == b[k].work)) return false;
  }
  return true;
}

/// Segments in another order of distinct ones are no difference: each position must have the same.
void check_same(const lower::SegmentedModel& a, const lower::SegmentedModel& b) {
  REQUIRE(a.order.size() == b.order.size());
  CHECK(a.segments.size() == b.segments.size());
  CHECK(a.model_flops.value() == Approx(b.model_flops.value()).epsilon(1e-12));
  CHECK(a.above_diagonal_flops.value() == Approx(b.above_diagonal_flops.value()).epsilon(1e-12));
  for (std::size_t p = 0; p < a.order.size(); ++p) {
    const lower::ModelSegment &x = a.segments[a.order[p]], &y = b.segments[b.order[p]];
    CAPTURE(p, x.name, y.name);
    REQUIRE(x.role == y.role);
    REQUIRE(same_kernels(x.forward, y.forward));
    REQUIRE(same_kernels(x.recompute, y.recompute));
    REQUIRE(same_kernels(x.backward, y.backward));
    REQUIRE(x.saved == y.saved);
    REQUIRE(x.forward_peak == y.forward_peak);
    REQUIRE(x.backward_peak == y.backward_peak);
    REQUIRE(x.boundary == y.boundary);
    REQUIRE(x.held == y.held);
    REQUIRE(x.parameters.size() == y.parameters.size());
  }
}

}  // namespace

TEST_CASE("segment table: the same segments at every position as the whole graph gives") {
  for (const std::string model : {"llama3-8b", "gpt3-175b", "mixtral-8x7b"}) {
    const scenario::Scenario s = job(model);
    scenario::InputCache cache;
    const scenario::Inputs inputs = cache.load(s);
    search::SegmentTable table;
    for (const plan::Sharding sharding : {plan::Sharding::ddp, plan::Sharding::fsdp}) {
      for (const plan::Recompute recompute : {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        for (const int tp : {1, 2}) {
          for (const int cp : {1, 2}) {
            if (cp > 1 && inputs.shape.experts > 0) continue;
            plan::Plan p = s.plan;
            p.tp = tp, p.cp = cp, p.sequence_parallel = tp > 1 && cp == 1, p.sharding = sharding, p.recompute = recompute;
            p.ep = inputs.shape.experts > 0 && tp == 1 ? 2 : 1;
            CAPTURE(model, tp, cp, static_cast<int>(sharding), static_cast<int>(recompute));
            check_same(*table.get(inputs.graph, inputs.shape, p, s.training), lower::segment_model(*inputs.graph, inputs.shape, p, s.training));
          }
        }
      }
    }
  }
}
