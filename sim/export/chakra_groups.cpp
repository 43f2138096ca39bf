#include "sim/export/chakra_groups.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/export/export.h"
#include "sim/trace/all_ranks.h"

namespace sgsim::exporting {

std::optional<std::vector<std::int32_t>> members_of(const trace::ImportedRun& run, const trace::Group& group) {
  if (!group.ranks.empty()) return group.ranks;
  auto world = static_cast<std::uint32_t>(run.ranks.size());
  for (const trace::RankTrace& rank : run.ranks) world = std::max(world, rank.world_size);
  if (group.size != world) return std::nullopt;
  std::vector<std::int32_t> all(world);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string chakra_groups(const trace::ImportedRun& run, Diagnostics& report) {
  std::set<std::uint32_t> used;
  for (const trace::RankTrace& rank : run.ranks) {
    for (const trace::Collective& collective : rank.collectives) used.insert(collective.group);
  }
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (std::uint32_t g = 0; g < run.groups.size(); ++g) {
    const std::string& name = run.strings.at(run.groups[g].name);
    if (const auto members = members_of(run, run.groups[g])) {
      groups[std::to_string(chakra_group_number(g))] = *members;
    } else if (used.count(g) != 0 && !trace::is_all_ranks(run, run.groups[g])) {
      report.add("export.chakra.group_without_members", Severity::error, fmt::format("\"{}\" of {} ranks: the trace does not list them, comm_group.json lacks {}", name, run.groups[g].size, chakra_group_number(g)));
    }
  }
  return groups.empty() ? std::string() : groups.dump(1) + "\n";
}

}  // namespace sgsim::exporting
