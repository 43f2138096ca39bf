#pragma once

#include "sim/scenario/inputs.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/simulate.h"

namespace sgsim::search {

/// What is asked: the scenario's model, training settings, cluster and global batch; its plan is one candidate among others.
/// Everything referenced must outlive the search.
struct Problem {
  const scenario::Scenario& scenario;
  scenario::InputCache& cache;
  scenario::RunEngine engine;      // of the exact evaluation
};

}  // namespace sgsim::search
