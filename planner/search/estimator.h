#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "planner/search/candidate.h"
#include "planner/search/layer_costs.h"
#include "planner/search/pipeline.h"
#include "planner/search/state_costs.h"
#include "sim/core/diagnostics.h"

namespace sgsim::search {

/// Step time and memory of plans in closed form, from the same segments, kernel and collective times as lowering and with the same
/// orders of passes; what it leaves out is in docs/planning.md. Keeps costs between calls; one a thread. Not thread-safe.
class Estimator {
 public:
  Estimator(const Problem& problem, LayerCostTable& table);

  /// Of a legal layout, one for each option.
  [[nodiscard]] std::vector<Figures> estimate(const Layout& layout, std::span<const StateOption> options);

 private:
  struct LayoutWork;
  [[nodiscard]] StateSetting setting(const plan::Plan& plan);
  [[nodiscard]] const cluster::GroupShape& shape(const plan::Plan& plan, int shard_group, lower::Slot slot, int stage);
  [[nodiscard]] std::vector<Seconds> hops(const plan::Plan& plan, const Stages& stages);
  [[nodiscard]] Figures evaluate(const LayoutWork& work, const plan::Plan& plan);
  [[nodiscard]] Seconds finish(const LayoutWork& work, const StateSetting& setting, std::vector<Seconds> end, std::vector<Seconds> host);
  [[nodiscard]] lower::RunCost update(const StateSetting& setting, const LayoutWork& work, std::size_t kind) const;

  const Problem& problem_;
  LayerCostTable& table_;
  scenario::Inputs inputs_;
  Diagnostics diagnostics_;
  lower::TaskCosts costs_;
  cluster::Cluster cluster_;
  std::map<std::tuple<int, int, int, int, int, int, int, int, int>, cluster::GroupShape> shapes_;
  Pipeline pipeline_;
};

}  // namespace sgsim::search
