#include <cstdio>
#include <exception>
#include <iostream>
#include <system_error>

#include "planner/cli/subcommand.h"

namespace sgsim::cli {
namespace {

int say(const char* kind, const std::string& what, ExitCode code) {
  std::fflush(stdout);
  std::fprintf(stderr, "sgsim: %s: %s\n", kind, what.c_str());
  return static_cast<int>(code);
}

/// Output that is lost (a full disk, a closed pipe) is an error, whatever the answer was.
int flushed(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  return say("cannot go on", "the output cannot be written (standard output is full or closed)", ExitCode::environment);
}

int act(const Action& action) {
  try {
    return flushed(static_cast<int>(action()));
  } catch (const InputError& error) {
    return say("bad input", error.what(), ExitCode::bad_input);
  } catch (const EnvironmentError& error) {
    return say("cannot go on", error.what(), ExitCode::environment);
  } catch (const std::bad_alloc&) {
    return say("cannot go on", "out of memory", ExitCode::environment);
  } catch (const std::system_error& error) {  // of output that cannot be written
    return say("cannot go on", error.what(), ExitCode::environment);
  } catch (const std::exception& error) {
    return say("internal error", error.what(), ExitCode::our_bug);
  }
}

}  // namespace

int run(int argc, const char* const* argv) {
  CLI::App app("SGSim predicts the step time, overlap, memory and timeline of training on a GPU cluster, before anyone rents it.\n"
               "Exit codes: 0 good, 1 check failed, 2 bad input, 3 environment, 4 infeasible plan, 70 a bug of ours.");
  app.name("sgsim");
  app.set_version_flag("--version", std::string("sgsim ") + version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("sgsim SUBCOMMAND --help says more. First run:\n  sgsim simulate scenarios/llama3-70b-1024xa100.json --trace step.json.gz");
  Action chosen;
  add_simulate(app, chosen);
  add_explain(app, chosen);
  add_sweep(app, chosen);
  add_plan(app, chosen);
  add_validate(app, chosen);
  add_check(app, chosen);
  add_import(app, chosen);
  add_replay(app, chosen);
  add_diff(app, chosen);
  add_info(app, chosen);
  add_export(app, chosen);
  add_scenario(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return flushed(app.exit(done));
  } catch (const CLI::RequiredError& error) {
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty()) {
      app.exit(error);
      return static_cast<int>(ExitCode::bad_input);
    }
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names += (names.empty() ? "" : ", ") + command->get_name();
    return say("bad input", std::string(argv[1]) + ": found an unknown subcommand; expected one of " + names, ExitCode::bad_input);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::bad_input);
  }
  return act(chosen);
}

}  // namespace sgsim::cli
