#include <fmt/format.h>

#include <memory>

#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"

namespace sgsim::cli {

void add_scenario(CLI::App& app, Action& chosen) {
  struct Flags {
    ScenarioFlags scenario;
    bool effective = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("scenario", "Check a scenario file; print it with every default filled in");
  flags->scenario.add(*command, true);
  command->add_flag("--effective", flags->effective, "Print the scenario as it will be simulated; \"defaults\" lists what the file left out");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const scenario::Scenario s = flags->scenario.read();
      if (flags->effective) {
        fmt::print("{}", scenario::effective_text(s));
      } else {
        fmt::print("{}: a sound scenario; {} fields are left to their defaults (--effective shows them)\n", s.file, s.defaults.size());
      }
      return ExitCode::good;
    };
  });
}

}  // namespace sgsim::cli
