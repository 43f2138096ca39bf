#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "calibrate/cli/commands.h"
#include "sim/core/error.h"

namespace {

using namespace sgsim;
using namespace sgsim::calibrate;

void add_selection(CLI::App& app, Selection& selection) {
  app.add_option("--only", selection.groups, "Groups to measure (see list); may be given more than once");
  app.add_flag("--held-out", selection.held_out, "The random shapes that the fit never sees, instead of the sweeps");
  app.add_flag("--smoke", selection.smoke, "A few points of each group, to see that everything runs");
  app.add_option("--gpus", selection.gpus, "Local GPUs to use (default: all)")->check(CLI::PositiveNumber);
}

void add_profile(CLI::App& app, std::string& out, std::string& base, std::string& name, std::vector<std::string>& hosts) {
  app.add_option("--out", out, "Profile to write; its samples go beside it (NAME.samples.jsonl)")->capture_default_str();
  app.add_option("--base", base, "Profile to take from what no measurement gives (frameworks' host costs, networks)");
  app.add_option("--name", name, "Name of the profile (default: from the GPU)");
  app.add_option("--host", hosts, "What calibrate/pytorch_overhead.py wrote here: PyTorch's host costs; may be given more than once");
}

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::bad_input);
  } catch (const EnvironmentError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::environment);
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return static_cast<int>(ExitCode::our_bug);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures this machine's GPUs for sgsim: kernels, launches, collectives, interference; writes a profile."};
  app.require_subcommand(1);
  Selection selection;
  RunFlags run;
  FitFlags fit;
  CompareFlags compare;
  ExecuteFlags execute;
  for (int i = 0; i < argc; ++i) run.command += (i == 0 ? "" : " ") + std::string(i == 0 ? "sgsim-calibrate" : argv[i]);
  execute.command = run.command;

  CLI::App* list = app.add_subcommand("list", "Say what would be measured");
  add_selection(*list, selection);
  CLI::App* measure = app.add_subcommand("run", "Measure (going on where an earlier run stopped) and fit");
  add_selection(*measure, run.selection);
  add_profile(*measure, run.out, run.base, run.name, run.hosts);
  measure->add_option("--minutes", run.minutes, "Stop after this long; what is measured stays")->check(CLI::PositiveNumber);
  measure->add_flag("--verbose", run.verbose, "Print every point");
  CLI::App* refit = app.add_subcommand("fit", "Make the profile from samples again; needs no GPU");
  refit->add_option("samples", fit.samples, "Samples files; later ones add to and replace earlier ones")->required();
  add_profile(*refit, fit.out, fit.base, fit.name, fit.hosts);
  refit->add_flag("--native", fit.native, "Host costs of a native program (sgsim validate), from the launch group, instead of a framework's");
  CLI::App* versus = app.add_subcommand("compare", "Compare two: each a profile or a samples file (held-out samples show the fit's errors)");
  versus->add_option("a", compare.a, "Profile or samples")->required();
  versus->add_option("b", compare.b, "Profile or samples")->required();
  versus->add_flag("--worst", compare.worst, "Print the points that differ most");
  CLI::App* executing = app.add_subcommand("execute", "Run programs that `sgsim validate --write-program` wrote, and keep what was measured (docs/validate.md)");
  executing->add_option("programs", execute.programs, "Program files")->required();
  executing->add_option("-o,--out", execute.out, "Measured file (default: NAME.measured.json.gz beside NAME.program.json)");
  executing->add_option("--seconds", execute.seconds, "Of steps that count, for each program")->check(CLI::PositiveNumber)->capture_default_str();

  CLI11_PARSE(app, argc, argv);
  if (*list) return guarded([&] { return list_command(selection); });
  if (*measure) return guarded([&] { return run_command(run); });
  if (*executing) return guarded([&] { return execute_command(execute); });
  if (*refit) return guarded([&] { return fit_command(fit); });
  return guarded([&] { return compare_command(compare); });
}
