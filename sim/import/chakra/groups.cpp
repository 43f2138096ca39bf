#include "sim/import/chakra/groups.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace sgsim::import::chakra {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestName = 64;

bool is_members(const Json& list) {
  return list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), [](const Json& rank) { return rank.is_number_unsigned() && rank.get<std::uint64_t>() < 100'000'000; });
}

}  // namespace

bool is_groups_file(std::string_view bytes) {
  // Nearly every other JSON file has a letter outside a name, a point or a deeper bracket within its first bytes.
  const std::size_t bracket = bytes.find('[');
  if (bracket == std::string_view::npos || bracket > kLongestName + 8 || bytes.find('{') > bracket) return false;
  const std::size_t close = bytes.find(']', bracket);
  if (close == std::string_view::npos || bytes.substr(bracket + 1, close - bracket - 1).find_first_not_of("0123456789, \t\r\n") != std::string_view::npos) return false;
  const Json json = Json::parse(bytes, nullptr, false);
  if (!json.is_object() || json.empty()) return false;
  return std::all_of(json.items().begin(), json.items().end(), [](const auto& item) { return item.key().find_first_not_of("0123456789") == std::string::npos && !item.key().empty() && is_members(item.value()); });
}

std::uint32_t Groups::of(const Node& node, trace::ImportedRun& run) {
  const std::string key = node.text("pg_name");
  const auto [found, added] = by_name_.try_emplace(key, static_cast<std::uint32_t>(run.groups.size()));
  if (added) {
    const std::string own = node.text("group_name"), description = node.text("pg_desc");
    run.groups.push_back({.name = run.strings.intern(own.empty() ? key : own), .description = run.strings.intern(key.empty() ? "all ranks" : description), .ranks = {},
                          .size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(node.integer("pg_size").value_or(0), 0, 100'000'000))});
  }
  return found->second;
}

void Groups::read(std::string_view bytes, const std::string& file, Diagnostics& report) {
  const Json json = Json::parse(bytes);
  for (const auto& [name, ranks] : json.items()) members_.insert_or_assign(name, ranks.get<std::vector<std::int32_t>>());
  report.add("import.chakra.group_members", Severity::info, file, json.size());
}

void Groups::finish(trace::ImportedRun& run) const {
  for (const auto& [name, members] : members_) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    run.groups[found->second].ranks = members;
    run.groups[found->second].size = static_cast<std::uint32_t>(members.size());
  }
}

}  // namespace sgsim::import::chakra
