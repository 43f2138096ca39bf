#include "planner/cli/scenario_flags.h"

namespace sgsim::cli {

void ScenarioFlags::add(CLI::App& command, bool engines) {
  command.add_option("SCENARIO", file, "Scenario file (docs/formats/scenario.md)")->required();
  command.add_option("--set", set, "Change one field, e.g. --set plan.tp=8 --set cluster.faults[0].factor=0.5; null takes it away")
      ->type_name("PATH=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  if (!engines) return;
  command.add_option("--engine", engine, "fast: closed-form transfers; simgrid: every transfer a flow over shared links")
      ->check(CLI::IsMember({"fast", "simgrid"}));
  command.add_flag("--full", full, "Simulate every rank instead of one of each class");
}

std::vector<scenario::Setting> ScenarioFlags::settings() const {
  std::vector<scenario::Setting> settings;
  for (const std::string& text : set) settings.push_back(scenario::parse_setting(text));
  if (!engine.empty()) settings.push_back({.path = "engine.name", .value = engine});
  if (full) settings.push_back({.path = "engine.full", .value = "true"});
  return settings;
}

}  // namespace sgsim::cli
