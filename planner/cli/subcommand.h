#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "sim/core/error.h"

namespace sgsim::cli {

/// What the chosen subcommand does, once all flags are read.
using Action = std::function<ExitCode()>;

/// Each adds its subcommand with its flags, and puts what to do into `chosen` when the user chose it.
void add_simulate(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_sweep(CLI::App& app, Action& chosen);
void add_plan(CLI::App& app, Action& chosen);
void add_validate(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_import(CLI::App& app, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_diff(CLI::App& app, Action& chosen);
void add_info(CLI::App& app, Action& chosen);
void add_export(CLI::App& app, Action& chosen);
void add_scenario(CLI::App& app, Action& chosen);

/// "0.1.0".
[[nodiscard]] const char* version();
/// `version`, and a hash of the running program's file: results of two builds are never taken for one another.
[[nodiscard]] std::string exact_version();

/// Parses and runs a command line. Errors end in one readable paragraph on stderr and their exit code.
[[nodiscard]] int run(int argc, const char* const* argv);

}  // namespace sgsim::cli
