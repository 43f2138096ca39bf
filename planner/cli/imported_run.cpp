#include "planner/cli/imported_run.h"

#include "sim/core/error.h"
#include "sim/import/format.h"

namespace sgsim::cli {

trace::ImportedRun read_run(const std::string& path) {
  for (import::Imported& one : import::import_path(path, {})) {
    if (auto* run = std::get_if<trace::ImportedRun>(&one)) return std::move(*run);
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
