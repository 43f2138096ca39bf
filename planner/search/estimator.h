#pragma once

#include <map>
#include <memory>
#include <optional>
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
  struct SomeRecomputed {
    int layers = 0;      // of each chunk; 0: none need be, `all`: all must
    int all = 0;         // layers of the smallest chunk
    Figures figures;     // where it is neither; the step time is a lower bound
  };
  Estimator(const Problem& problem, LayerCostTable& table);

  /// Of a legal layout, one for each option.
  [[nodiscard]] std::vector<Figures> estimate(const Layout& layout, std::span<const StateOption> options);
  /// The same memory, and a step time that estimate() is never below: the busiest stage's kernels, filling and draining the pipeline.
  [[nodiscard]] std::vector<Figures> bounds(const Layout& layout, std::span<const StateOption> options);
  /// estimate()'s step times.
  [[nodiscard]] std::vector<Seconds> step_times(const Layout& layout, std::span<const StateOption> options);
  /// Of a layout with recomputation, for each option: the fewest layers of each chunk that must be recomputed so that `limit` (of Figures::needed)
  /// is kept, and what the plan then takes.
  [[nodiscard]] std::vector<SomeRecomputed> fewest_recomputed(const Layout& layout, std::span<const StateOption> options, Bytes limit);
  /// Layers of each chunk so that the busiest stage has as little to do as possible, embedding and head counted; layers are taken as equal, and of
  /// equal choices later stages, which keep fewer activations, get more. Empty: the even split does it.
  [[nodiscard]] std::vector<int> balanced_layers(const Layout& layout);
  /// Whether recomputation of the layout finds anything to do (selective: nothing where attention is fused).
  [[nodiscard]] bool recomputes(const Layout& layout);

 private:
  struct Part;
  struct LayoutWork;
  [[nodiscard]] SomeRecomputed fewest_recomputed(LayoutWork& work, Candidate candidate, int layers, Bytes limit);
  [[nodiscard]] const Part& part(LayoutWork& work, const Candidate& candidate);
  [[nodiscard]] Figures memory(const Part& part, const StateSetting& setting) const;
  [[nodiscard]] StateSetting setting(const plan::Plan& plan);
  [[nodiscard]] const cluster::GroupShape& shape(const plan::Plan& plan, int shard_group, lower::Slot slot, int stage);
  [[nodiscard]] std::vector<Seconds> hops(const plan::Plan& plan, const Stages& stages);
  [[nodiscard]] Seconds step_time(const Part& part, const StateSetting& setting);
  [[nodiscard]] Seconds pipelined(const Part& part, const StateSetting& setting);
  [[nodiscard]] Seconds finish(const Part& part, const StateSetting& setting, std::vector<Seconds> end, std::vector<Seconds> host);
  [[nodiscard]] lower::RunCost update(const StateSetting& setting, const Part& part, std::size_t kind) const;

  const Problem& problem_;
  LayerCostTable& table_;
  scenario::Inputs inputs_;
  Diagnostics diagnostics_;
  lower::TaskCosts costs_;
  cluster::Cluster cluster_;
  std::map<std::tuple<int, int, int, int, int, int, int, int, int>, cluster::GroupShape> shapes_;
  Pipeline pipeline_;
  std::optional<bool> selective_finds_;  // the same for every layout: it is the graph's attention that decides
};

}  // namespace sgsim::search
