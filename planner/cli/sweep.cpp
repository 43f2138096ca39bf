#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "planner/cli/engines.h"
#include "planner/cli/progress_bar.h"
#include "planner/cli/subcommand.h"
#include "sim/core/units_text.h"
#include "sim/scenario/sweep/run_sweep.h"
#include "sim/scenario/text_table.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string file, out;
  unsigned workers = std::max(1U, std::thread::hardware_concurrency());
  bool retry_failed = false;
};

std::string counts(const scenario::SweepProgress& progress) {
  std::string text;
  for (std::size_t s = 1; s < progress.by_status.size(); ++s) {
    if (progress.by_status[s] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", progress.by_status[s], scenario::label(static_cast<scenario::PointStatus>(s)));
  }
  return text;
}

std::string summary(const scenario::SweepProgress& progress) {
  scenario::TextTable table("rrrrrl");
  if (!progress.best.empty()) table.row({"point", "step time", "samples/s", "MFU", "memory", "settings"});
  for (const scenario::BestPoint& b : progress.best) {
    table.row({std::to_string(b.number), to_text(Seconds(b.step_time_s)), fmt::format("{:.4g}", b.samples_per_s), scenario::percent(b.mfu), to_text(Bytes(b.reserved_mem_bytes)), b.settings});
  }
  return table.text();
}

ExitCode sweep(const Flags& flags) {
  const scenario::Sweep sweep = scenario::read_sweep(flags.file);
  const std::string out = flags.out.empty() ? std::filesystem::path(flags.file).stem().string() : flags.out;
  const scenario::SweepOptions options{.store = out + ".sqlite", .csv = out + ".csv", .program_version = exact_version(), .workers = flags.workers, .retry_failed = flags.retry_failed};
  ProgressBar bar;
  const auto progress = scenario::run_sweep(sweep, run_engine, options, [&](const scenario::SweepProgress& p) { bar.show(p.done, p.reused, p.points, counts(p)); });
  bar.finish();
  const std::string others = counts(progress);
  fmt::print("{} points: {} ok{}{}; {} were known already\nresults: {} and {}\n", progress.points, progress.by_status[0], others.empty() ? "" : ", ", others, progress.reused, options.store, options.csv);
  if (!progress.best.empty()) fmt::print("best of those that fit, by samples a second:\n{}", summary(progress));
  const auto count = [&](scenario::PointStatus status) { return progress.by_status[static_cast<std::size_t>(status)]; };
  const bool nothing_right = progress.points > 0 && count(scenario::PointStatus::bad_input) == progress.points;
  return nothing_right ? ExitCode::bad_input : ExitCode::good;
}

}  // namespace

void add_sweep(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sweep", "Simulate a grid over scenario fields into SQLite and CSV; a killed sweep goes on where it stopped");
  command->add_option("SWEEP", flags->file, "Sweep file (docs/formats/sweep.md)")->required();
  command->add_option("-o,--out", flags->out, "Name of the results, without .sqlite and .csv (default: the sweep file's, in this folder)")->type_name("NAME");
  command->add_option("-j,--workers", flags->workers, "Worker processes (default: one a core)")->check(CLI::Range(1U, 4096U));
  command->add_flag("--retry-failed", flags->retry_failed, "Try points again whose process died");
  command->callback([flags, &chosen] { chosen = [flags] { return sweep(*flags); }; });
}

}  // namespace sgsim::cli
