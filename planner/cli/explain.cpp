#include <fmt/format.h>

#include <memory>
#include <thread>

#include "planner/cli/engines.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "sim/scenario/explain.h"
#include "sim/scenario/report.h"

namespace sgsim::cli {
namespace {

struct Flags {
  ScenarioFlags scenario;
  bool json = false;
};

ExitCode explain(const Flags& flags) {
  const scenario::Scenario s = flags.scenario.read();
  if (s.engine.name == scenario::EngineName::simgrid) {
    throw InputError({.file = s.file, .where = "$.engine.name", .found = "simgrid", .expected = "fast, which explain simulates dozens of variants with",
                      .hint = "--set engine.name=fast"});
  }
  scenario::InputCache cache;
  const auto outcome = scenario::explain(s, cache, run_engine, std::max(1U, std::thread::hardware_concurrency()));
  if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
    fmt::print("{}", flags.json ? scenario::json_report(s, *violations) : scenario::text_report(s, *violations));
    return ExitCode::infeasible;
  }
  const auto& explanation = std::get<scenario::Explanation>(outcome);
  fmt::print("{}", flags.json ? scenario::json_report(s, explanation) : scenario::text_report(s, cache.load(s), explanation));
  return explanation.result.fits ? ExitCode::good : ExitCode::infeasible;
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("explain", "Say what the step waits for, and which changes would move it most");
  flags->scenario.add(*command, false);
  command->add_flag("--json", flags->json, "Print JSON, with every change that was tried");
  command->callback([flags, &chosen] { chosen = [flags] { return explain(*flags); }; });
}

}  // namespace sgsim::cli
