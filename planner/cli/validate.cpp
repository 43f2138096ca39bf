#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"
#include "planner/cli/engines.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "planner/validate/compare.h"
#include "planner/validate/executable.h"
#include "planner/validate/local_executor.h"
#include "planner/validate/record.h"
#include "planner/validate/scale.h"
#include "sim/scenario/report.h"
#include "sim/scenario/simulate.h"

namespace sgsim::cli {
namespace {

struct Flags {
  ScenarioFlags scenario;
  int gpus = 0;
  bool json = false;
  std::string trace, write_program, measured, keep, record;
};

/// The scenario on as many GPUs as there are: those that were asked for, else the local ones, else as many as the plan wants.
validate::Scaled scaled(const Flags& flags, scenario::InputCache& cache) {
  const scenario::Scenario asked = validate::as_executed(flags.scenario.read());
  const int here = flags.write_program.empty() && flags.measured.empty() ? validate::gpus_here() : 0;
  const int gpus = flags.gpus > 0 ? flags.gpus : here > 0 ? here : asked.plan.world();
  const validate::Fits fits = [&](const scenario::Scenario& s) {
    const scenario::Outcome outcome = scenario::simulate(s, cache.load(s), run_engine);
    const auto* run = std::get_if<scenario::Run>(&outcome);
    return run == nullptr || run->result.fits;  // an illegal plan is reported by the run itself
  };
  return validate::scale_to(asked, cache.load(asked).shape, gpus, fits);
}

int run_comparison(const Flags& flags, const validate::Scaled& what, const scenario::Inputs& inputs, const validate::Prepared& prepared) {
  const calibrate::ExecutableProgram program = validate::executable(what.scenario, inputs, prepared);
  if (!flags.write_program.empty()) {
    calibrate::save_program(program, flags.write_program);
    for (const std::string& change : what.changes) fmt::print(stderr, "scaled down: {}\n", change);
    fmt::print(stderr, "program {} of {} rank{}: {}; next: sgsim-calibrate execute {}\n", calibrate::program_id(program), program.ranks.size(), program.ranks.size() == 1 ? "" : "s", flags.write_program, flags.write_program);
    return 0;
  }
  const calibrate::MeasuredProgram measured = flags.measured.empty() ? validate::execute_here(program, fmt::format("sgsim validate {}", std::filesystem::path(flags.scenario.file).filename().string())) : calibrate::load_measured(flags.measured);
  if (!flags.keep.empty()) calibrate::save_measured(measured, flags.keep);
  validate::Comparison comparison = validate::compare(program, prepared, measured, flags.measured.empty() ? "this run" : flags.measured);
  comparison.changes = what.changes;
  fmt::print("{}", flags.json ? validate::json_report(comparison, measured) : validate::text_report(comparison, measured));
  if (!flags.trace.empty()) {
    validate::write_trace(flags.trace, comparison);
    fmt::print(stderr, "timeline: {}; open it at https://ui.perfetto.dev\n", flags.trace);
  }
  if (!flags.record.empty()) validate::add_record(flags.record, what.scenario, inputs, measured);
  return comparison.numbers_wrong + comparison.waits_violated == 0 ? 0 : 1;
}

ExitCode validate_command(const Flags& flags) {
  scenario::InputCache cache;
  const validate::Scaled what = scaled(flags, cache);
  const scenario::Inputs inputs = cache.load(what.scenario);
  const auto outcome = validate::prepare(what.scenario, inputs, run_engine);
  if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
    fmt::print("{}", flags.json ? scenario::json_report(what.scenario, *violations) : scenario::text_report(what.scenario, *violations));
    return ExitCode::infeasible;
  }
  return run_comparison(flags, what, inputs, std::get<validate::Prepared>(outcome)) == 0 ? ExitCode::good : ExitCode::check_failed;
}

}  // namespace

void add_validate(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("validate", "Run the plan's programs on real GPUs and compare (docs/validate.md)");
  flags->scenario.add(*command, false);
  command->add_option("--gpus", flags->gpus, "GPUs to use; a larger plan is scaled down (default: the local ones)")->check(CLI::Range(1, 65536));
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_option("--trace", flags->trace, "Write both timelines side by side for Perfetto")->type_name("FILE.json[.gz]");
  CLI::Option* write = command->add_option("--write-program", flags->write_program, "Only write the programs, for `sgsim-calibrate execute` on another machine")->type_name("FILE.program.json[.gz]");
  CLI::Option* measured = command->add_option("--measured", flags->measured, "Compare with what `sgsim-calibrate execute` measured")->type_name("FILE");
  command->add_option("--keep", flags->keep, "Keep what was measured")->type_name("FILE.measured.json[.gz]")->excludes(measured)->excludes(write);
  command->add_option("--record", flags->record, "Add the run to a file of records that `sgsim check` reads")->type_name("FILE.json[.gz]")->excludes(write);
  write->excludes(measured);
  command->callback([flags, &chosen] { chosen = [flags] { return validate_command(*flags); }; });
}

}  // namespace sgsim::cli
