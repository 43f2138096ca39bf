#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "planner/search/candidate.h"
#include "planner/search/problem.h"
#include "planner/search/segment_table.h"
#include "sim/lower/program/run_cost.h"
#include "sim/lower/segments.h"

namespace sgsim::search {

/// Everything of a plan that decides a rank's kernels.
struct LayerKey {
  int nodes = 1, tp = 1, cp = 1, ep = 1;
  bool sequence_parallel = false;
  bool across = false;               // kernels may cross layers (lower::fuses_across_layers)
  bool split = false;                // backward passes in two (zero bubble)
  bool some = false;                 // some layers of a chunk are recomputed (Plan::recompute_layers)
  plan::Recompute recompute = plan::Recompute::none;
  std::int64_t micro_batch = 1;
  auto operator<=>(const LayerKey&) const = default;
};

/// Gradients that become complete together.
struct GradientPart {
  double ready = 0.0;       // seconds of the segment's backward list after which they are
  double elements = 0.0;
  int tensors = 0;
  bool expert = false;
  bool operator==(const GradientPart&) const = default;
};

/// A segment's lists on one rank, tensor-, context- and expert-parallel collectives included, each beside the kernels between
/// it and its first reader.
struct SegmentCost {
  lower::SegmentRole role = lower::SegmentRole::layer;
  lower::RunCost forward, backward;          // backward with recomputation before it; split: the weight gradients alone
  lower::RunCost inputs;                     // split: recomputation and the input gradients
  std::vector<GradientPart> gradients;       // in the order in which they become complete
  double dense = 0.0, expert = 0.0, replicated = 0.0, tied = 0.0;  // trained elements on this rank
  double frozen = 0.0, frozen_expert = 0.0;  // elements that are not trained: all of them, of experts
  int frozen_tensors = 0, frozen_expert_tensors = 0;
  int tensors = 0;
  int tensor_sharded = 0;                    // trained parameters divided over tensor-parallel ranks
  double saved = 0.0, forward_peak = 0.0, backward_peak = 0.0, boundary = 0.0, held = 0.0;  // bytes, as in lower::ModelSegment
};

/// The model on one rank.
struct LayerCosts {
  std::shared_ptr<const lower::SegmentedModel> model;
  std::vector<SegmentCost> segments;         // parallel to model->segments
  std::vector<std::uint32_t> before, layers, after;  // segment of each position
  std::vector<std::uint32_t> kept_layers;    // of layers that are not recomputed, where only some are
};

[[nodiscard]] LayerKey layer_key(const Problem& problem, const Candidate& candidate);

/// Segments and their costs, each made once and shared by threads.
class LayerCostTable {
 public:
  explicit LayerCostTable(const Problem& problem) : problem_(problem), shape_(problem.cache.load(problem.scenario).shape) {}
  /// Of a legal candidate. Throws InputError where the model's file has become another model since the search began.
  [[nodiscard]] std::shared_ptr<const LayerCosts> get(const Candidate& candidate);
  [[nodiscard]] std::size_t size() const { return made_.size(); }

 private:
  [[nodiscard]] std::shared_ptr<const LayerCosts> make(const Candidate& candidate);
  [[nodiscard]] std::shared_ptr<const LayerCosts> mixed(const Candidate& candidate);

  const Problem& problem_;
  plan::ModelShape shape_;     // when the search began: all candidates must have it
  SegmentTable segments_;
  OnceTable<LayerKey, LayerCosts> made_;
};

}  // namespace sgsim::search
