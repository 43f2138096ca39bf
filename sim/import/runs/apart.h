#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::import {

/// Ranks of one run, as places in ImportedRun::ranks, and why they are none of an earlier run (empty for the first).
struct OneRun {
  std::vector<std::size_t> ranks;
  std::string reason;
};

/// Sorts the ranks of files that lay together into runs. Two ranks are of different runs when they have different world sizes, are the same rank
/// with other contents, were recorded a minute or more apart on clocks that can be compared, name a communicator's members differently, or have neither world size nor
/// collective (nothing then says that they belong together). What fits several runs goes to the one of its folder, then to the one of its time.
[[nodiscard]] std::vector<OneRun> runs_apart(const trace::ImportedRun& all);

/// Whether two files of one rank hold the same.
[[nodiscard]] bool same_contents(const trace::RankTrace& a, const trace::RankTrace& b);

}  // namespace sgsim::import
