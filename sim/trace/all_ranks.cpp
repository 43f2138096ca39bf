#include "sim/trace/all_ranks.h"

#include <algorithm>
#include <set>

namespace sgsim::trace {

std::uint32_t ranks_told(const ImportedRun& run) {
  auto told = static_cast<std::uint32_t>(std::max<std::size_t>(1, run.ranks.size()));
  for (const RankTrace& rank : run.ranks) {
    told = std::max(told, rank.world_size);
    if (run.ranks.size() > 1 && rank.rank >= 0) told = std::max(told, static_cast<std::uint32_t>(rank.rank) + 1);
  }
  return told;
}

std::vector<std::uint32_t> ranks_missing(const ImportedRun& run, std::uint32_t total) {
  std::set<std::uint32_t> present;
  for (const RankTrace& rank : run.ranks) {
    if (rank.rank < 0) return {};
    present.insert(static_cast<std::uint32_t>(rank.rank));
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t r = 0; r < total; ++r) {
    if (present.count(r) == 0) missing.push_back(r);
  }
  return missing;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 6;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const std::size_t shown = ranks.size() <= kShown + 1 ? ranks.size() : kShown;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? " " : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return shown == ranks.size() ? text : text + " and " + std::to_string(ranks.size() - shown) + " more";
}

}  // namespace sgsim::trace
