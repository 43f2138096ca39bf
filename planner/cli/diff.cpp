#include <fmt/format.h>

#include <memory>

#include "planner/cli/imported_run.h"
#include "planner/cli/subcommand.h"
#include "sim/core/error.h"
#include "sim/trace/diff.h"
#include "sim/trace/no_times.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string a, b;
  std::size_t rows = 12;
};

trace::ImportedRun read_timed_run(const std::string& path) {
  trace::ImportedRun run = read_run(path);
  if (trace::has_start_times(run)) return run;
  throw trace::no_device_times(run, run.ranks.front());
}

/// What of a file is not in the comparison.
std::string dropped_text(const char* which, const Diagnostics& report) {
  std::string text;
  for (const auto& [key, d] : report.entries()) {
    if (d.severity == Severity::error) text += fmt::format("{}: {}  {}  e.g. {}\n", which, d.count, key, d.example);
  }
  return text;
}

}  // namespace

void add_diff(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("diff", "Compare two timelines: what got slower, by kind of kernel, stream, layer and kernel");
  command->add_option("A", flags->a, "Trace, folder of traces, or timeline of sgsim simulate --trace")->required();
  command->add_option("B", flags->b, "The other one")->required();
  command->add_option("--rows", flags->rows, "Rows of each table (12)")->check(CLI::Range(1, 1'000'000));
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const trace::ImportedRun a = read_timed_run(flags->a), b = read_timed_run(flags->b);
      fmt::print("{}{}{}", trace::diff_text(trace::diff_runs(a, b), flags->rows), dropped_text("A", a.report), dropped_text("B", b.report));
      return ExitCode::good;
    };
  });
}

}  // namespace sgsim::cli
