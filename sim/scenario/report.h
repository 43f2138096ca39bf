#pragma once

#include <string>
#include <vector>

#include "sim/scenario/remedies.h"
#include "sim/scenario/simulate.h"

namespace sgsim::scenario {

/// A run as `sgsim simulate` prints it: a page that a person reads. `wall` is what the prediction took.
[[nodiscard]] std::string text_report(const Scenario& scenario, const Inputs& inputs, const Result& result, Seconds wall);
/// The same for scripts (scenarios/schema/result.schema.json). `remedies`: for a run that does not fit.
[[nodiscard]] std::string json_report(const Scenario& scenario, const Inputs& inputs, const Result& result, Seconds wall,
                                      const std::vector<Remedy>& remedies = {});

/// A plan that is not legal, for people and for scripts ({"infeasible": [...]}).
[[nodiscard]] std::string text_report(const Scenario& scenario, const std::vector<plan::Violation>& violations);
[[nodiscard]] std::string json_report(const Scenario& scenario, const std::vector<plan::Violation>& violations);

/// "tp 8, pp 8, dp 16, 1f1b, sequence parallel; micro-batch 1 of 1,024; recompute none".
[[nodiscard]] std::string plan_text(const plan::Plan& plan);
/// How MFU and HFU are computed, with this run's numbers.
[[nodiscard]] std::string mfu_formula(const Result& result);
/// "measured 80 %, analytic 20 %"; "-" when the time is zero.
[[nodiscard]] std::string sources_text(const SourceShares& shares);

}  // namespace sgsim::scenario
