#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/read.h"

namespace sgsim::cli {

/// The flags of every subcommand that takes a scenario.
struct ScenarioFlags {
  std::string file;
  std::vector<std::string> set;
  std::string engine;
  bool full = false;

  /// Adds SCENARIO and --set; `engines` adds --engine and --full.
  void add(CLI::App& command, bool engines);
  /// --set in order, then --engine and --full as settings of engine.name and engine.full.
  [[nodiscard]] std::vector<scenario::Setting> settings() const;
  [[nodiscard]] scenario::Scenario read() const { return scenario::read_scenario(file, settings()); }
};

}  // namespace sgsim::cli
