#pragma once

#include <string>
#include <vector>

#include "gui/session/job.h"
#include "sim/plan/plan.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/scenario.h"

namespace sgsim::gui {

/// Which rules of plan legality a scenario breaks, as simulating it would find. Throws as the readers of its model do; a profile
/// that cannot be read is no reason.
[[nodiscard]] std::vector<plan::Violation> brokenRules(const scenario::Scenario& scenario, scenario::InputCache& cache);

}  // namespace sgsim::gui
