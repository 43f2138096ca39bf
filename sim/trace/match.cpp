#include "sim/trace/match.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace sgsim::trace {

const DeviceOp* kernel_of(const ImportedRun& run, const Member& m) {
  const RankTrace& rank = run.ranks[m.rank];
  const std::uint32_t op = rank.collectives[m.collective].device_op;
  return op == kNone || rank.device_ops[op].start == kNoTime ? nullptr : &rank.device_ops[op];
}

std::string rank_name(const RankTrace& rank) { return rank.rank >= 0 ? "rank " + std::to_string(rank.rank) : rank.file; }

std::string operation_name(const ImportedRun& run, const Collective& c) {
  return std::string(name_of(c.kind)) + (c.bytes < 0.0 ? "" : " of " + std::to_string(static_cast<std::int64_t>(c.bytes)) + " bytes") + " (" + run.strings.at(c.name) + ")";
}

namespace {

bool matchable(CommKind kind) { return kind != CommKind::send && kind != CommKind::receive && kind != CommKind::send_receive; }

// Whether the rank belongs to the group; groups of unknown members belong to everyone who used them.
bool in_group(const Group& group, const RankTrace& rank) {
  return group.ranks.empty() || rank.rank < 0 || std::find(group.ranks.begin(), group.ranks.end(), rank.rank) != group.ranks.end();
}

class Matcher {
 public:
  explicit Matcher(const ImportedRun& run) : run_(run) {}

  Matching match() {
    collect();
    for (std::uint32_t g = 0; g < run_.groups.size(); ++g) {
      match_group(g);
      if (!pairs_[g].empty()) match_pairs(run_, g, pairs_[g], result_);
    }
    std::stable_sort(result_.operations.begin(), result_.operations.end(), [&](const Matched& a, const Matched& b) { return first_start(a) < first_start(b); });
    clocks();
    return std::move(result_);
  }

 private:
  void collect() {
    lists_.resize(run_.groups.size());
    pairs_.resize(run_.groups.size());
    for (std::uint32_t r = 0; r < run_.ranks.size(); ++r) {
      const auto& collectives = run_.ranks[r].collectives;
      for (std::uint32_t c = 0; c < collectives.size(); ++c) {
        if (collectives[c].group == kNone) {
          result_.report.add("import.match.group_unknown", Severity::warning, operation_name(run_, collectives[c]));
        } else if (!matchable(collectives[c].kind)) {
          pairs_[collectives[c].group][r].push_back(c);
        } else {
          lists_[collectives[c].group][r].push_back(c);
        }
      }
    }
  }

  Nanoseconds first_start(const Matched& m) const {
    Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
    for (const Member& member : m.members) {
      if (const DeviceOp* k = kernel_of(run_, member)) first = std::min(first, k->start);
    }
    return first;
  }

  void match_group(std::uint32_t g) {
    const auto& lists = lists_[g];
    if (lists.empty()) return;
    const Group& group = run_.groups[g];
    const std::string name = "group \"" + run_.strings.at(group.name) + "\"";
    std::size_t shortest = std::numeric_limits<std::size_t>::max(), longest = 0;
    for (const auto& [r, list] : lists) {
      shortest = std::min(shortest, list.size());
      longest = std::max(longest, list.size());
      if (!in_group(group, run_.ranks[r])) result_.report.add("import.match.rank_outside_group", Severity::error, rank_name(run_.ranks[r]) + " used " + name);
    }
    if (shortest != longest) {
      result_.report.add("import.match.counts_differ", Severity::error, name + ": " + std::to_string(shortest) + " operations on one rank, " + std::to_string(longest) + " on another",
                         longest - shortest);
    }
    for (std::uint32_t i = 0; i < shortest; ++i) match_operation(g, i, name);
    if (group.size > lists.size()) result_.report.add("import.match.members_not_imported", Severity::warning, name + ": " + std::to_string(lists.size()) + " of " + std::to_string(group.size) + " ranks");
  }

  void match_operation(std::uint32_t g, std::uint32_t index, const std::string& name) {
    Matched m{.group = g, .sequence = index, .members = {}};
    Nanoseconds least = std::numeric_limits<Nanoseconds>::max(), sum = 0;
    bool any_kernel = false;
    Nanoseconds timed = 0;  // members with a time
    const Collective* first = nullptr;
    std::uint32_t first_rank = 0;
    for (const auto& [r, list] : lists_[g]) {
      const Collective& c = run_.ranks[r].collectives[list[index]];
      if (first == nullptr) first = &c, first_rank = r, m.kind = c.kind, m.bytes = c.bytes;
      if (c.kind != first->kind || (c.bytes != first->bytes && !c.uneven && !first->uneven)) {
        result_.report.add(c.kind != first->kind ? "import.match.operations_differ" : "import.match.sizes_differ", Severity::error,
                           name + ", operation " + std::to_string(index) + ": " + rank_name(run_.ranks[first_rank]) + " has " + operation_name(run_, *first) + ", " +
                               rank_name(run_.ranks[r]) + " has " + operation_name(run_, c));
        if (c.kind != first->kind) return;
      }
      m.members.push_back({r, list[index]});
      if (c.device_op == kNone) continue;
      any_kernel = true;
      const DeviceOp& kernel = run_.ranks[r].device_ops[c.device_op];
      if (kernel.start == kNoTime && kernel.duration == 0) continue;  // the file gives no time for it
      least = std::min(least, kernel.duration), sum += kernel.duration, ++timed;
    }
    if (!any_kernel) return;
    m.transfer = timed > 0 ? least : 0;
    m.waiting = sum - m.transfer * timed;
    result_.report.add("import.match.matched", Severity::info, name);
    result_.operations.push_back(std::move(m));
  }

  // Ends of shared operations: (time on `a`, time on `b` minus time on `a`).
  std::vector<std::pair<Nanoseconds, Nanoseconds>> differences(std::uint32_t a, std::uint32_t b) const {
    std::vector<std::pair<Nanoseconds, Nanoseconds>> result;
    for (const Matched& m : result_.operations) {
      const DeviceOp *ka = nullptr, *kb = nullptr;
      for (const Member& member : m.members) {
        if (member.rank == a) ka = kernel_of(run_, member);
        if (member.rank == b) kb = kernel_of(run_, member);
      }
      if (ka != nullptr && kb != nullptr) result.emplace_back(ka->start + ka->duration, kb->start + kb->duration - ka->start - ka->duration);
    }
    return result;
  }

  static Nanoseconds median(std::vector<Nanoseconds> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  static Nanoseconds spread(const std::vector<std::pair<Nanoseconds, Nanoseconds>>& d, const Clock& c) {
    Nanoseconds most = 0;
    for (const auto& [at, difference] : d) {
      most = std::max(most, std::abs(difference - c.offset - static_cast<Nanoseconds>(c.drift * static_cast<double>(at - c.from))));
    }
    return most;
  }

  // Offset by the median; drift from the medians of the first and the last third, kept where it halves the spread.
  static Clock fit(const std::vector<std::pair<Nanoseconds, Nanoseconds>>& d) {
    Clock plain{.collectives = static_cast<std::uint32_t>(d.size())};
    std::vector<Nanoseconds> all;
    for (const auto& [at, difference] : d) all.push_back(difference);
    plain.offset = median(all);
    plain.skew = spread(d, plain);
    const std::size_t third = d.size() / 3;
    if (third < 4) return plain;
    const auto part = [&](std::size_t from, std::size_t count) {
      std::vector<Nanoseconds> at, difference;
      for (std::size_t i = from; i < from + count; ++i) at.push_back(d[i].first), difference.push_back(d[i].second);
      return std::pair(median(at), median(difference));
    };
    const auto [t0, d0] = part(0, third);
    const auto [t1, d1] = part(d.size() - third, third);
    if (t1 <= t0) return plain;
    Clock tilted = plain;
    tilted.drift = static_cast<double>(d1 - d0) / static_cast<double>(t1 - t0);
    tilted.from = t0;
    tilted.offset = d0;
    tilted.skew = spread(d, tilted);
    return tilted.skew * 2 < plain.skew ? tilted : plain;
  }

  void clocks() {
    result_.clocks.assign(run_.ranks.size(), {});
    if (run_.ranks.empty()) return;
    std::set<std::uint32_t> done{0};
    std::vector<std::uint32_t> queue{0};
    for (std::size_t q = 0; q < queue.size(); ++q) {
      for (std::uint32_t r = 0; r < run_.ranks.size(); ++r) {
        if (done.count(r) != 0) continue;
        auto d = differences(queue[q], r);
        if (d.empty()) continue;
        Clock c = fit(d);
        if (queue[q] != 0) {  // through a rank that is aligned already; its drift is carried as an offset at this rank's first operation
          const Clock& via = result_.clocks[queue[q]];
          c.offset += via.offset + static_cast<Nanoseconds>(via.drift * static_cast<double>(d.front().first - via.from));
        }
        result_.clocks[r] = c;
        done.insert(r);
        queue.push_back(r);
      }
    }
    skews();
    if (result_.skew < result_.raw_skew) return;
    // One clock already, as far as the ends tell: medians only move the greatest difference elsewhere.
    for (Clock& c : result_.clocks) c = {.collectives = c.collectives};
    result_.skew = result_.raw_skew;
  }

  void skews() {
    for (const Matched& m : result_.operations) {
      Nanoseconds raw_low = std::numeric_limits<Nanoseconds>::max(), raw_high = std::numeric_limits<Nanoseconds>::min(), low = raw_low, high = raw_high;
      for (const Member& member : m.members) {
        const DeviceOp* k = kernel_of(run_, member);
        if (k == nullptr) continue;
        const Nanoseconds end = k->start + k->duration;
        const Clock& c = result_.clocks[member.rank];
        const Nanoseconds aligned = to_first_clock(c, end);
        raw_low = std::min(raw_low, end), raw_high = std::max(raw_high, end);
        low = std::min(low, aligned), high = std::max(high, aligned);
      }
      if (raw_low > raw_high) continue;  // no start times
      result_.raw_skew = std::max(result_.raw_skew, raw_high - raw_low);
      result_.skew = std::max(result_.skew, high - low);
    }
  }

  const ImportedRun& run_;
  Matching result_;
  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>> lists_, pairs_;  // by group: collectives, sends and receives, by rank
};

}  // namespace

Nanoseconds to_first_clock(const Clock& c, Nanoseconds time) {
  if (c.drift == 0.0) return time - c.offset;
  return c.from + static_cast<Nanoseconds>(static_cast<double>(time - c.offset - c.from) / (1.0 + c.drift));
}

bool waiting_apart(const ImportedRun& run) { return run.format == "own_timeline" && run.report.entries().count("import.own_timeline.communication_with_waiting") == 0; }

Matching match_collectives(const ImportedRun& run) { return Matcher(run).match(); }

void align_clocks(ImportedRun& run, const Matching& matching) {
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const Clock& c = matching.clocks[r];
    if (c.offset == 0 && c.drift == 0.0) continue;
    const auto move = [&](auto& table) {
      for (auto& x : table) {
        if (x.start != kNoTime) x.start = to_first_clock(c, x.start);
      }
    };
    RankTrace& rank = run.ranks[r];
    move(rank.ops), move(rank.calls), move(rank.device_ops), move(rank.steps);
  }
}

Nanoseconds total_transfer(const Matching& matching) {
  Nanoseconds sum = 0;
  for (const Matched& m : matching.operations) sum += m.transfer;
  return sum;
}

}  // namespace sgsim::trace
