// Colour refinement: ranks start with the colour of (program, speed); a group's colour is the set of (colour, slot) of
// its members; a rank's next colour is its own with its groups' by slot. Once no class splits any more, ranks of a class
// meet the same arrivals in every group they use, in every step, so one of each is simulated. A transfer waits for the
// latest member and takes the longest `device`, and slows while any member computes: sets are enough, counts are not
// needed. Colours are 64-bit hashes; the result is checked exactly and left unfolded if two hashes ever collided.
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/core/error.h"
#include "sim/engine/engine.h"

namespace sgsim::engine {
namespace {

using Colour = std::uint32_t;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

/// Who is in each group, through which slot.
struct Memberships {
  std::vector<std::uint32_t> first;                             // of each group, and the end
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members; // (rank, slot), by rank
};

Memberships memberships(const lower::Workload& workload) {
  Memberships result;
  result.first.assign(workload.groups.size() + 1, 0);
  for (const lower::RankBinding& rank : workload.ranks) {
    SGSIM_CHECK(rank.program.value < workload.programs.size(), "a rank without program");
    for (const GroupId group : rank.groups) {
      if (!group.valid()) continue;
      SGSIM_CHECK(group.value < workload.groups.size(), "a rank in a group that does not exist");
      ++result.first[group.value + 1];
    }
  }
  for (std::size_t g = 0; g < workload.groups.size(); ++g) result.first[g + 1] += result.first[g];
  result.members.resize(result.first.back());
  std::vector<std::uint32_t> filled(result.first.begin(), result.first.end() - 1);
  for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const auto& groups = workload.ranks[r].groups;
    for (std::uint32_t slot = 0; slot < groups.size(); ++slot) {
      if (groups[slot].valid()) result.members[filled[groups[slot].value]++] = {r, slot};
    }
  }
  return result;
}

class Refinement {
 public:
  explicit Refinement(const lower::Workload& workload) : workload_(workload), memberships_(memberships(workload)) {}

  /// Classes numbered by their lowest rank; nothing if two hashes collided.
  std::optional<std::vector<Colour>> classes() {
    start();
    for (std::size_t count = 0; count != numbers_.size();) {
      count = numbers_.size();
      colour_groups();
      colour_ranks();
    }
    if (!verify()) return std::nullopt;
    return ranks_;
  }

  /// Colour of each group in the final classes.
  [[nodiscard]] const std::vector<Colour>& groups() const { return groups_; }

  /// Distinct (colour, slot) of a group, ascending.
  const std::vector<std::pair<Colour, std::uint32_t>>& set_of(std::size_t group) {
    set_.clear();
    for (std::uint32_t m = memberships_.first[group]; m < memberships_.first[group + 1]; ++m) {
      const auto [rank, slot] = memberships_.members[m];
      const std::pair<Colour, std::uint32_t> entry{ranks_[rank], slot};
      if (set_.empty() || set_.back() != entry) set_.push_back(entry);
    }
    std::sort(set_.begin(), set_.end());
    set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
    return set_;
  }

 private:
  Colour number(std::uint64_t hash) { return numbers_.try_emplace(hash, static_cast<Colour>(numbers_.size())).first->second; }

  void start() {
    ranks_.resize(workload_.ranks.size());
    groups_.resize(workload_.groups.size());
    numbers_.reserve(64);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const lower::RankBinding& rank = workload_.ranks[r];
      ranks_[r] = number(mix(mix(1, rank.program.value), std::bit_cast<std::uint64_t>(rank.speed)));
    }
  }

  void colour_groups() {
    std::unordered_map<std::uint64_t, Colour> numbers;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::uint64_t hash = 2;
      for (const auto& [colour, slot] : set_of(g)) hash = mix(mix(hash, colour), slot);
      groups_[g] = numbers.try_emplace(hash, static_cast<Colour>(numbers.size())).first->second;
    }
  }

  void colour_ranks() {
    numbers_.clear();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::uint64_t hash = mix(3, ranks_[r]);
      for (const GroupId group : workload_.ranks[r].groups) hash = mix(hash, group.valid() ? groups_[group.value] : ~0ull);
      ranks_[r] = number(hash);
    }
  }

  bool verify() {
    std::vector<std::uint32_t> first(numbers_.size(), ~0u);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      std::uint32_t& f = first[ranks_[r]];
      if (f == ~0u) f = r;
      if (!same(workload_.ranks[f], workload_.ranks[r])) return false;
    }
    std::unordered_map<Colour, std::vector<std::pair<Colour, std::uint32_t>>> sets;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto& set = set_of(g);
      if (sets.try_emplace(groups_[g], set).first->second != set) return false;
    }
    return true;
  }

  bool same(const lower::RankBinding& a, const lower::RankBinding& b) const {
    if (a.program != b.program || a.speed != b.speed || a.groups.size() != b.groups.size()) return false;
    for (std::size_t slot = 0; slot < a.groups.size(); ++slot) {
      if (a.groups[slot].valid() != b.groups[slot].valid()) return false;
      if (a.groups[slot].valid() && groups_[a.groups[slot].value] != groups_[b.groups[slot].value]) return false;
    }
    return true;
  }

  const lower::Workload& workload_;
  Memberships memberships_;
  std::vector<Colour> ranks_, groups_;
  std::unordered_map<std::uint64_t, Colour> numbers_;
  std::vector<std::pair<Colour, std::uint32_t>> set_;
};

/// Everything of the folded workload but its programs.
std::optional<Folded> quotient(const lower::Workload& workload) {
  Refinement refinement(workload);
  std::optional<std::vector<Colour>> classes = refinement.classes();
  if (!classes) return std::nullopt;
  Folded folded;
  folded.class_of = std::move(*classes);
  for (std::uint32_t r = 0; r < folded.class_of.size(); ++r) {
    const Colour c = folded.class_of[r];
    if (c == folded.multiplicity.size()) {
      folded.multiplicity.push_back(0);
      folded.representative.push_back(RankId{r});
      folded.workload.ranks.push_back(workload.ranks[r]);
    }
    ++folded.multiplicity[c];
  }
  std::unordered_map<Colour, GroupId> ids;
  for (lower::RankBinding& rank : folded.workload.ranks) {
    for (GroupId& group : rank.groups) {
      if (!group.valid()) continue;
      const std::uint32_t original = group.value;
      auto& groups = folded.workload.groups;
      const auto [entry, added] = ids.try_emplace(refinement.groups()[original], GroupId{static_cast<std::uint32_t>(groups.size())});
      group = entry->second;
      if (!added) continue;
      groups.push_back({.kind = workload.groups[original].kind, .members = {}});
      for (const auto& [colour, slot] : refinement.set_of(original)) {
        if (groups.back().members.empty() || groups.back().members.back().value != colour) groups.back().members.push_back(RankId{colour});
      }
    }
  }
  return folded;
}

}  // namespace

Folded unfolded(lower::Workload workload) {
  Folded folded;
  const auto ranks = static_cast<std::uint32_t>(workload.ranks.size());
  folded.multiplicity.assign(ranks, 1);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    folded.representative.push_back(RankId{r});
    folded.class_of.push_back(r);
  }
  folded.workload = std::move(workload);
  return folded;
}

Folded fold(const lower::Workload& workload) {
  std::optional<Folded> folded = quotient(workload);
  if (!folded) return unfolded(workload);
  folded->workload.programs = workload.programs;
  return std::move(*folded);
}

Folded fold(lower::Workload&& workload) {
  std::optional<Folded> folded = quotient(workload);
  if (!folded) return unfolded(std::move(workload));
  folded->workload.programs = std::move(workload.programs);
  return std::move(*folded);
}

}  // namespace sgsim::engine
