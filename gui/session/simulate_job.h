#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/timeline_data.h"
#include "gui/session/job.h"
#include "sim/engine/traffic/link_traffic.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/remedies.h"
#include "sim/scenario/simulate.h"

namespace sgsim::gui {

/// Above this many simulated tasks one rank a stage is recorded instead of every one (a task takes about 100 bytes here).
inline constexpr std::uint64_t kMostRecordedTasks = 3'000'000;

/// A simulated scenario with everything that views show of it.
struct Simulated {
  std::string text;                      // the scenario file as simulated
  QString name, folder;                  // of the document then
  scenario::Scenario scenario;
  scenario::Inputs inputs;
  std::vector<plan::Violation> violations;  // not empty: the plan is not legal and nothing below is filled in
  std::shared_ptr<const scenario::Run> run;
  std::shared_ptr<const TimelineData> timeline;
  bool everything_recorded = false;
  std::vector<scenario::PathStep> path;  // critical path; empty unless everything was recorded
  std::vector<scenario::PathTime> path_times;
  std::vector<scenario::Remedy> remedies;
  std::string report;                    // what `sgsim simulate` prints
  engine::LinkTraffic traffic;           // bytes that the links carry in the step
  double wall = 0.0;                     // seconds that the prediction took, recording excluded
};

/// Simulates with the engine that the scenario names. Throws as the readers do. `cache` is shared by all jobs.
[[nodiscard]] std::shared_ptr<const Simulated> simulateScenario(const std::string& text, const std::string& name, const std::string& folder,
                                                                scenario::InputCache& cache, JobControl& control);

}  // namespace sgsim::gui
