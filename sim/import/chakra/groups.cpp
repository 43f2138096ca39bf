#include "sim/import/chakra/groups.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/json_value.h"
#include "sim/trace/all_ranks.h"

namespace sgsim::import::chakra {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestName = 64;

bool is_members(const Json& list) {
  return list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), [](const Json& rank) { return rank.is_number_unsigned() && rank.get<std::uint64_t>() < 100'000'000; });
}

}  // namespace

bool begins_as_groups(std::string_view bytes) {
  std::size_t at = 0;
  const auto next = [&]() -> char {  // 0: the bytes end
    while (at < bytes.size() && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n')) ++at;
    return at < bytes.size() ? bytes[at] : '\0';
  };
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9') ++at;
    return at - begin;
  };
  if (next() != '{') return false;
  for (std::size_t groups = 0;; ++groups) {
    ++at;  // a brace or a comma
    if (next() == '\0') return groups > 0;
    if (bytes[at] != '"') return false;
    ++at;
    const std::size_t length = digits();
    if (length > kLongestName) return false;
    if (at == bytes.size()) return groups > 0;
    if (length == 0 || bytes[at++] != '"') return false;
    if (next() == '\0') return groups > 0;
    if (bytes[at++] != ':') return false;
    if (next() == '\0') return groups > 0;
    if (bytes[at] != '[') return false;
    do {
      ++at;  // a bracket or a comma
      if (next() == '\0') return true;
      if (digits() == 0) return false;
      if (next() == '\0') return true;
    } while (bytes[at] == ',');
    if (bytes[at++] != ']') return false;
    if (next() != ',') return bytes.size() == at || bytes[at] == '}';
  }
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
  const Json json = parse_json(bytes, file);
  for (const auto& [name, ranks] : json.items()) {
    if (!is_members(ranks)) throw InputError({.file = file, .where = "$[\"" + name.substr(0, kLongestName) + "\"]", .found = ranks.dump().substr(0, 80), .expected = "a list of ranks", .hint = ""});
    members_.insert_or_assign(name, ranks.get<std::vector<std::int32_t>>());
  }
  report.add("import.chakra.group_members", Severity::info, file, json.size());
}

void Groups::finish(trace::ImportedRun& run) const {
  for (const auto& [name, members] : members_) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    run.groups[found->second].ranks = members;
    run.groups[found->second].size = static_cast<std::uint32_t>(members.size());
  }
  const std::uint32_t told = trace::ranks_told(run);
  for (const auto& [rank, index] : parts_) {
    trace::Collective& c = run.ranks[rank].collectives[index];
    const std::uint32_t size = run.groups[c.group].size;
    if (size > 0) {
      c.bytes *= size;
      continue;
    }
    // A communicator without a name is all ranks, as far as the files tell.
    const bool all = trace::is_all_ranks(run, run.groups[c.group]);
    if (all) c.bytes *= static_cast<double>(told);
    const std::string how = all ? ": " + std::to_string(told) + (told == 1 ? " part" : " parts") + ", of the ranks that the files tell of" : ": the size of its communicator is not known; one rank's part";
    run.report.add("import.chakra.gathered_size_guessed", Severity::warning, run.strings.at(c.name) + how);
  }
}

}  // namespace sgsim::import::chakra
