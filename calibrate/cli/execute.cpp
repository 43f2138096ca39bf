#include "calibrate/execute/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "calibrate/cli/commands.h"
#include "calibrate/execute/work_key.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

std::string beside(const std::string& program) {
  std::string stem = program;
  for (const std::string_view ending : {".gz", ".json", ".program"}) {
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
  }
  return stem + ".measured.json.gz";
}

void print(const MeasuredProgram& m, const std::string& file) {
  const auto wrong = std::count_if(m.numbers.begin(), m.numbers.end(), [](const NumberCheck& c) { return !c.passed(); });
  fmt::print("{}: step {:.3f} ms ({:.3f} to {:.3f}, {} steps), traced {:.3f} ms, issue {:.3f} ms, {:.0f} MHz, {:.0f} W; {} of {} number checks failed; {} of {} waits violated; {} records lost, {} unplaced: {}\n",
             m.name, m.steps.median_s * 1e3, m.steps.least_s * 1e3, m.steps.greatest_s * 1e3, m.steps.count, m.steps.traced_s * 1e3, m.steps.issue_s * 1e3, m.sm_clock_mhz, m.power_w, wrong,
             m.numbers.size(), m.waits_violated, m.waits_checked, m.records_dropped, m.records_unplaced, file);
  for (const NumberCheck& c : m.numbers) {
    if (!c.passed()) fmt::print("  WRONG {}: {} of {} elements, error {:.2g} (tolerance {:.2g})\n", c.what, c.wrong, c.elements, c.error, c.tolerance);
  }
  std::fflush(stdout);
}

/// Whether the program ran and its numbers are right.
bool execute_one(const std::string& file, const ExecuteFlags& flags) {
  const std::string out = flags.out.empty() ? beside(file) : flags.out;
  const ExecutableProgram program = load_program(file);
  if (std::filesystem::exists(out) && load_measured(out).program == program_id(program)) {
    fmt::print("{}: measured before, kept\n", out);
    return true;
  }
  try {
    const MeasuredProgram measured = execute(program, {.seconds = flags.seconds, .command = flags.command, .progress = [](const std::string& what) {
                                                         fmt::print("  {}\n", what);
                                                         std::fflush(stdout);
                                                       }});
    save_measured(measured, out);
    print(measured, out);
    return std::all_of(measured.numbers.begin(), measured.numbers.end(), [](const NumberCheck& c) { return c.passed(); });
  } catch (const NotExecutable& reason) {
    fmt::print("{}: NOT EXECUTABLE: {}\n", file, reason.reason);
  }
  return false;
}

}  // namespace

int execute_command(const ExecuteFlags& flags) {
  prepare_environment();
  if (!flags.out.empty() && flags.programs.size() > 1) throw InputError({.file = "--out", .where = "", .found = "one file for several programs", .expected = "no --out", .hint = ""});
  if (local_gpus() == 0) throw EnvironmentError("no GPU that CUDA can use");
  bool good = true;
  for (const std::string& file : flags.programs) {
    fmt::print("{}\n", file);
    good = execute_one(file, flags) && good;
  }
  return good ? 0 : static_cast<int>(ExitCode::check_failed);
}

}  // namespace sgsim::calibrate
