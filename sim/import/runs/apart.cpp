#include "sim/import/runs/apart.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace sgsim::import {
namespace {

using trace::Nanoseconds;

/// Clocks of servers agree to far less than this, and all ranks profile the same steps.
constexpr Nanoseconds kApart = 60'000'000'000;
/// Times after this one (the year 2015) count from 1970: others count from when a server was started.
constexpr Nanoseconds kSince1970 = 1'420'000'000'000'000'000;

struct Span {
  Nanoseconds from = std::numeric_limits<Nanoseconds>::max(), to = trace::kNoTime;
  [[nodiscard]] bool empty() const { return from > to; }
};

Span span_of(const trace::RankTrace& rank) {
  Span span;
  const auto see = [&](const auto& table) {
    for (const auto& entry : table) {
      if (entry.start == trace::kNoTime) continue;
      span.from = std::min(span.from, entry.start);
      span.to = std::max(span.to, entry.start + entry.duration);
    }
  };
  see(rank.ops), see(rank.calls), see(rank.device_ops);
  return span;
}

/// What a rank says of itself.
struct Claims {
  Span span;
  std::map<trace::Text, std::set<std::vector<std::int32_t>>> members;  // of the communicators it uses, by name
};

class Sorter {
 public:
  explicit Sorter(const trace::ImportedRun& all) : all_(all) {
    for (const trace::RankTrace& rank : all.ranks) {
      Claims& claims = claims_.emplace_back();
      claims.span = span_of(rank);
      for (const trace::Collective& c : rank.collectives) {
        if (c.group == trace::kNone) continue;
        const trace::Group& group = all.groups[c.group];
        if (group.name != 0 && !group.ranks.empty()) claims.members[group.name].insert(group.ranks);
      }
    }
  }

  std::vector<OneRun> sort() const {
    std::vector<OneRun> runs;
    for (std::size_t i = 0; i < all_.ranks.size(); ++i) {
      OneRun* best = nullptr;
      int most = -1;
      std::string reason;
      for (OneRun& run : runs) {
        const std::string against = against_run(run, i);
        if (reason.empty()) reason = against;
        const int fit = against.empty() ? fit_of(run, i) : -1;
        if (fit > most) best = &run, most = fit;
      }
      if (best != nullptr) {
        best->ranks.push_back(i);
      } else {
        runs.push_back({.ranks = {i}, .reason = reason});
      }
    }
    return runs;
  }

 private:
  std::string against_run(const OneRun& run, std::size_t i) const {
    for (const std::size_t member : run.ranks) {
      if (std::string why = against(member, i); !why.empty()) return fmt::format("{} and {}: {}", all_.ranks[i].file, all_.ranks[member].file, why);
    }
    return {};
  }

  /// Why two ranks are not of one run.
  std::string against(std::size_t i, std::size_t k) const {
    const trace::RankTrace &a = all_.ranks[i], &b = all_.ranks[k];
    if (a.world_size != 0 && b.world_size != 0 && a.world_size != b.world_size) return fmt::format("world sizes {} and {}", b.world_size, a.world_size);
    if (a.rank >= 0 && a.rank == b.rank && !same_contents(a, b)) return fmt::format("both are rank {}, with other contents", a.rank);
    if (const std::string times = against_times(i, k); !times.empty()) return times;
    if (std::max(a.world_size, b.world_size) <= 1 && a.collectives.empty() && b.collectives.empty() && !same_contents(a, b)) return "neither has collectives or a world size: nothing says that they belong together";
    return against_members(i, k);
  }

  std::string against_times(std::size_t i, std::size_t k) const {
    const Span &a = claims_[i].span, &b = claims_[k].span;
    const bool one_host = !all_.ranks[i].host.empty() && all_.ranks[i].host == all_.ranks[k].host;
    if (a.empty() || b.empty() || (!one_host && std::min(a.from, b.from) < kSince1970)) return {};
    const Nanoseconds gap = std::max(a.from, b.from) - std::min(a.to, b.to);
    return gap < kApart ? std::string() : fmt::format("recorded {:.0f} s apart", static_cast<double>(gap) * 1e-9);
  }

  std::string against_members(std::size_t i, std::size_t k) const {
    const auto has = [](const std::vector<std::int32_t>& list, std::int32_t rank) { return std::find(list.begin(), list.end(), rank) != list.end(); };
    for (const auto& [name, mine] : claims_[i].members) {
      const auto found = claims_[k].members.find(name);
      if (found == claims_[k].members.end()) continue;
      const bool common = std::any_of(mine.begin(), mine.end(), [&](const auto& list) { return found->second.count(list) != 0; });
      if (common) continue;
      const auto& a = *mine.begin();
      const auto& b = *found->second.begin();
      if (has(a, all_.ranks[k].rank) || has(b, all_.ranks[i].rank)) return fmt::format("communicator \"{}\" has ranks {} and {}", all_.strings.at(name), fmt::join(b, " "), fmt::join(a, " "));
    }
    return {};
  }

  int fit_of(const OneRun& run, std::size_t i) const {
    const auto folder = [&](std::size_t r) { return std::filesystem::path(all_.ranks[r].file).parent_path(); };
    int fit = 0;
    for (const std::size_t member : run.ranks) {
      const Span &a = claims_[member].span, &b = claims_[i].span;
      const bool overlap = !a.empty() && !b.empty() && std::max(a.from, b.from) <= std::min(a.to, b.to);
      fit = std::max(fit, (folder(member) == folder(i) ? 2 : 0) + (overlap ? 1 : 0));
    }
    return fit;
  }

  const trace::ImportedRun& all_;
  std::vector<Claims> claims_;
};

}  // namespace

bool same_contents(const trace::RankTrace& a, const trace::RankTrace& b) {
  return a.device_ops == b.device_ops && a.calls == b.calls && a.ops == b.ops && a.collectives == b.collectives;
}

std::vector<OneRun> runs_apart(const trace::ImportedRun& all) { return Sorter(all).sort(); }

}  // namespace sgsim::import
