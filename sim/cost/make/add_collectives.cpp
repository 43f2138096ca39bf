#include "sim/cost/make/parts.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/make/fits.h"

namespace sgsim::cost::make {

void add_collectives(Profile& p, const GpuFacts& facts, const std::string& truth_dir) {
  const auto rows = read_collectives(truth_dir + "/kernels/" + std::string(facts.collectives));
  const FitError error = fit_collectives(p, rows, facts.hopper);
  for (ProtocolCost& c : p.protocols) {
    if (c.source.empty()) c.source = "collectives-fit";
  }
  p.rates["collective.local"].source = "collectives-fit";
  p.factors["collective.sigma"] = {std::max(0.05, error.p90 / 1.645), "collectives-fit"};
  const std::string source = "validation data set (shared/truth/kernels/" + std::string(facts.collectives) + ", half)";
  const std::string machine = p.name == "a100-40gb" ? "8 x NVIDIA A100-SXM4-80GB, NVSwitch" : "8 x " + p.gpu.name + ", NVSwitch";
  p.sources["collectives-fit"] = {.kind = ProvenanceKind::fitted, .source = source, .machine = machine, .date = "", .software = facts.hopper ? "NCCL 2.29.2" : "NCCL 2.27.3",
                                  .note = std::string(kLicence) + ". Model without sweeps over " + std::to_string(error.rows) + " rows: median error " + percent(error.median) + ", p90 " + percent(error.p90)};
  p.sources["collectives-sweep"] = {.kind = ProvenanceKind::measured, .source = source, .machine = machine, .date = "", .software = facts.hopper ? "NCCL 2.29.2" : "NCCL 2.27.3",
                                    .note = std::string(kLicence) + ""};
  for (const graph::CollectiveOp op : {graph::CollectiveOp::all_reduce, graph::CollectiveOp::all_gather, graph::CollectiveOp::reduce_scatter, graph::CollectiveOp::all_to_all}) {
    for (const int ranks : {2, 4, 8}) {
      CollectiveSweep sweep{.op = op, .ranks = ranks, .bytes = {}, .time_ns = {}, .source = "collectives-sweep"};
      for (const CollectiveRow& r : rows) {
        if (r.op != op || r.ranks != ranks || (!sweep.bytes.empty() && r.bytes <= sweep.bytes.back())) continue;
        sweep.bytes.push_back(r.bytes);
        sweep.time_ns.push_back(std::llround(r.us * 1e3));
      }
      p.sweeps.push_back(std::move(sweep));
    }
  }
}

}  // namespace sgsim::cost::make
