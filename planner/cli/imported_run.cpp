#include "planner/cli/imported_run.h"

#include <vector>

#include "sim/core/error.h"
#include "sim/import/format.h"
#include "sim/trace/steps.h"

namespace sgsim::cli {

namespace {

/// Of each run a file, and why it is none of the first, where the reader says so.
[[noreturn]] void refuse(const std::string& path, const std::vector<trace::ImportedRun>& runs) {
  std::string found = std::to_string(runs.size()) + " runs: ", why;
  for (std::size_t i = 0; i < runs.size() && i < 4; ++i) {
    found += (i == 0 ? "" : ", ") + runs[i].format + " of " + runs[i].ranks.front().file;
    const auto reason = runs[i].report.entries().find("import." + runs[i].format + ".other_run");
    if (why.empty() && reason != runs[i].report.entries().end()) why = " (" + reason->second.example + ")";
  }
  throw InputError({.file = path, .where = "", .found = found + (runs.size() > 4 ? ", ..." : "") + why, .expected = "one file, or a folder with the traces of one run", .hint = "name the file, or put each run into a folder of its own"});
}

}  // namespace

trace::ImportedRun read_all_of_run(const std::string& path) {
  std::vector<trace::ImportedRun> runs;
  for (import::Imported& one : import::import_path(path, {})) {
    if (auto* run = std::get_if<trace::ImportedRun>(&one)) runs.push_back(std::move(*run));
  }
  if (runs.size() > 1) refuse(path, runs);
  if (!runs.empty()) return std::move(runs.front());
  throw InputError({.file = path, .where = "", .found = "no run", .expected = "a trace, or the traces of one run", .hint = "graphs and topologies are read by sgsim import"});
}

trace::ImportedRun read_run(const std::string& path) {
  trace::ImportedRun run = read_all_of_run(path);
  trace::keep_whole_steps(run);
  return run;
}

RecoveredRun read_recovered_run(const std::string& path) {
  RecoveredRun result;
  result.run = read_run(path);
  result.matching = trace::match_collectives(result.run);
  trace::align_clocks(result.run, result.matching);
  for (const trace::RankTrace& rank : result.run.ranks) result.dependencies.push_back(trace::recover_dependencies(result.run, rank));
  return result;
}

}  // namespace sgsim::cli
