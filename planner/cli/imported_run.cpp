#include "planner/cli/imported_run.h"

#include <optional>

#include "sim/core/error.h"
#include "sim/import/format.h"
#include "sim/trace/steps.h"

namespace sgsim::cli {

trace::ImportedRun read_run(const std::string& path) {
  std::optional<trace::ImportedRun> found;
  for (import::Imported& one : import::import_path(path, {})) {
    auto* run = std::get_if<trace::ImportedRun>(&one);
    if (run == nullptr) continue;
    if (found) {
      throw InputError({.file = path, .where = "", .found = "files of two runs (" + found->format + ", " + run->format + ")", .expected = "one file, or a folder with the traces of one run", .hint = "name the file, or move others elsewhere"});
    }
    found = std::move(*run);
  }
  if (found) {
    trace::keep_whole_steps(*found);
    return std::move(*found);
  }
  throw InputError({.file = path, .where = "", .found = "no run", .expected = "a trace, or the traces of one run", .hint = "graphs and topologies are read by sgsim import"});
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
