#pragma once

#include "planner/search/candidate.h"
#include "planner/search/layer_costs.h"
#include "sim/core/diagnostics.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::search {

/// What the time of lowering and simulating a plan grows with: micro-batches x layers. At most 75 us of it: measured with gradients kept whole on every
/// rank, where no micro-batch is merged with another (2,500 micro-batches of 32 layers, recomputed, in 5.7 s; most plans take a tenth).
[[nodiscard]] double exact_work(const Candidate& candidate, std::int64_t layers);

/// exact_work of the longest that a search simulates: 400,000 (LLaMA-3-8B, 12,500 micro-batches) took half a minute and 12 GB of host memory.
inline constexpr double kMostWork = 100000.0;

/// Step time and memory of plans by lowering and an engine. One a thread.
class Exact {
 public:
  Exact(const Problem& problem, LayerCostTable& table);
  /// Of a legal candidate. Throws Stopped where an open StopScope says so.
  [[nodiscard]] Figures evaluate(const Candidate& candidate, const scenario::EngineChoice& engine = {});

 private:
  const Problem& problem_;
  LayerCostTable& table_;
  scenario::Inputs inputs_;
  Diagnostics diagnostics_;
  lower::TaskCosts costs_;
};

}  // namespace sgsim::search
