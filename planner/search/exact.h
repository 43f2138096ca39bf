#pragma once

#include "planner/search/candidate.h"
#include "planner/search/layer_costs.h"
#include "sim/core/diagnostics.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::search {

/// Step time and memory of plans by lowering and an engine. One a thread.
class Exact {
 public:
  Exact(const Problem& problem, LayerCostTable& table);
  /// Of a legal candidate.
  [[nodiscard]] Figures evaluate(const Candidate& candidate, const scenario::EngineChoice& engine = {});

 private:
  const Problem& problem_;
  LayerCostTable& table_;
  scenario::Inputs inputs_;
  Diagnostics diagnostics_;
  lower::TaskCosts costs_;
};

}  // namespace sgsim::search
