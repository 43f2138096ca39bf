#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// Ranks of the whole job as far as its files tell: what they call the world's size, the number of files, and, of several files, the largest rank and one.
/// 1: one file that does not say.
[[nodiscard]] std::uint32_t ranks_told(const ImportedRun& run);

/// Whether a communicator is that of all ranks: the file says neither its name, nor members, nor a size.
[[nodiscard]] inline bool is_all_ranks(const ImportedRun& run, const Group& group) { return group.size == 0 && group.ranks.empty() && run.strings.at(group.name).empty(); }

/// Numbers from 0 to `total` - 1 that no imported rank has; none where not every file has a number.
[[nodiscard]] std::vector<std::uint32_t> ranks_missing(const ImportedRun& run, std::uint32_t total);

/// "rank 2", "ranks 2, 4 and 5", "ranks 0, 1, 2, 3, 4, 5 and 6 more".
[[nodiscard]] std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace sgsim::trace
