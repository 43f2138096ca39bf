#include "gui/session/rules_job.h"

#include "sim/core/error.h"
#include "sim/plan/legality.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {

std::vector<plan::Violation> brokenRules(const scenario::Scenario& s, scenario::InputCache& cache) {
  try {
    return plan::check_plan(cache.load(s).shape, s.plan, s.cluster);
  } catch (const std::exception&) {
    // Rules do not look at the profile: the one that ships for the GPU reads as well as one that is missing.
    const scenario::Scenario plain = scenario::scenario_from_text(scenario::effective_text(s), s.file, {}, std::vector<scenario::Setting>{{"profile", "null"}});
    return plan::check_plan(cache.load(plain).shape, plain.plan, plain.cluster);
  }
}

}  // namespace sgsim::gui
