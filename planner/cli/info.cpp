#include <fmt/format.h>

#include <memory>

#include "planner/cli/subcommand.h"
#include "sim/scenario/info.h"

namespace sgsim::cli {

void add_info(CLI::App& app, Action& chosen) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("info", "Say what a file is and what it holds");
  command->add_option("FILE", *file, "Graph, model config, scenario, sweep, cluster, profile, result or timeline")->required();
  command->callback([file, &chosen] {
    chosen = [file] {
      fmt::print("{}", scenario::info_text(*file));
      return ExitCode::good;
    };
  });
}

}  // namespace sgsim::cli
