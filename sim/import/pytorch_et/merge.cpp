#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/import/pytorch_et/pytorch_et.h"

namespace sgsim::import::pytorch_et {
namespace {

constexpr std::size_t kWindow = 400;  // operators looked ahead for the next common name
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kRun = 3;       // names in a row that make a place common

using Ops = std::vector<std::uint32_t>;

/// Process id by majority of the threads that have operators, empty when there are none.
std::string process_of(const trace::ImportedRun& run, const trace::RankTrace& rank) {
  std::map<std::string, int> votes;
  for (const trace::HostOp& op : rank.ops) {
    if (op.kind == trace::HostKind::op && op.thread < rank.threads.size()) ++votes[run.strings.at(rank.threads[op.thread].process)];
  }
  std::string best;
  int most = 0;
  for (const auto& [process, count] : votes) {
    if (count > most) best = process;
    most = std::max(most, count);
  }
  return best;
}

/// Both traces list the framework's operators in the order in which they began; each leaves out some that the other has.
class Aligner {
 public:
  Aligner(const trace::ImportedRun& a, const trace::RankTrace& a_rank, const trace::ImportedRun& b, const trace::RankTrace& b_rank)
      : a_(a), a_rank_(a_rank), b_(b), b_rank_(b_rank), a_ops_(ops_of(a_rank)), b_ops_(ops_of(b_rank)) {
    // Kineto gives ids in order of beginning, over all threads.
    std::stable_sort(a_ops_.begin(), a_ops_.end(), [&](std::uint32_t x, std::uint32_t y) { return a_rank.ops[x].id < a_rank.ops[y].id; });
  }

  std::size_t least_ops() const { return std::min(a_ops_.size(), b_ops_.size()); }

  /// Operators of `b` by operator of `a`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> run() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::size_t i = 0, k = 0;
    while (i < a_ops_.size() && k < b_ops_.size()) {
      if (same(i, k)) {
        pairs.emplace_back(a_ops_[i++], b_ops_[k++]);
      } else if (!resynchronise(i, k)) {
        ++i;
        ++k;
      }
    }
    return pairs;
  }

 private:
  static Ops ops_of(const trace::RankTrace& rank) {
    Ops ops;
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
      if (rank.ops[i].kind == trace::HostKind::op) ops.push_back(i);
    }
    return ops;
  }

  bool same(std::size_t i, std::size_t k) const { return a_.strings.at(a_rank_.ops[a_ops_[i]].name) == b_.strings.at(b_rank_.ops[b_ops_[k]].name); }

  bool common(std::size_t i, std::size_t k) const {
    for (std::size_t n = 0; n < kRun; ++n) {
      if (i + n >= a_ops_.size() || k + n >= b_ops_.size()) return n > 0;
      if (!same(i + n, k + n)) return false;
    }
    return true;
  }

  /// The nearest common place: fewest operators left out in all.
  bool resynchronise(std::size_t& i, std::size_t& k) const {
    for (std::size_t left_out = 1; left_out <= kWindow; ++left_out) {
      for (std::size_t of_a = 0; of_a <= left_out; ++of_a) {
        if (i + of_a >= a_ops_.size() || k + left_out - of_a >= b_ops_.size() || !common(i + of_a, k + left_out - of_a)) continue;
        i += of_a;
        k += left_out - of_a;
        return true;
      }
    }
    return false;
  }

  const trace::ImportedRun& a_;
  const trace::RankTrace& a_rank_;
  const trace::ImportedRun& b_;
  const trace::RankTrace& b_rank_;
  Ops a_ops_, b_ops_;
};

class Merger {
 public:
  Merger(trace::ImportedRun& run, trace::RankTrace& rank, const trace::ImportedRun& execution, const trace::RankTrace& source)
      : run_(run), rank_(rank), execution_(execution), source_(source) {}

  void merge() {
    const auto pairs = Aligner(run_, rank_, execution_, source_).run();
    for (const auto& [mine, theirs] : pairs) {
      to_mine_.emplace(theirs, mine);
    }
    count("merged_op", Severity::info, rank_.file, pairs.size());
    if (source_.ops.size() > pairs.size()) count("merged_op_unmatched", Severity::warning, fmt::format("{}: {} of {} nodes have no operator in {}", source_.file, source_.ops.size() - pairs.size(), source_.ops.size(), rank_.file), source_.ops.size() - pairs.size());
    for (const auto& [mine, theirs] : pairs) {
      if (rank_.ops[mine].shapes == 0 && source_.ops[theirs].shapes != 0) rank_.ops[mine].shapes = run_.strings.intern(execution_.strings.at(source_.ops[theirs].shapes));
    }
    merge_edges();
    merge_collectives();
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example, std::uint64_t times = 1) {
    if (times > 0) run_.report.add(fmt::format("import.pytorch_et.{}", what), severity, example, times);
  }

  void merge_edges() {
    std::uint64_t added = 0;
    for (const trace::Edge& edge : source_.edges) {
      const auto from = to_mine_.find(edge.from.index), to = to_mine_.find(edge.to.index);
      if (!edge.data || from == to_mine_.end() || to == to_mine_.end()) continue;
      rank_.edges.push_back({.from = {trace::NodeTable::ops, from->second}, .to = {trace::NodeTable::ops, to->second}, .data = true});
      ++added;
    }
    count("merged_data_edge", Severity::info, rank_.file, added);
  }

  std::uint32_t group_of(std::uint32_t theirs) {
    const trace::Group& group = execution_.groups[theirs];
    const std::string& name = execution_.strings.at(group.name);
    for (std::uint32_t i = 0; i < run_.groups.size(); ++i) {
      if (run_.strings.at(run_.groups[i].name) == name) return i;
    }
    run_.groups.push_back({.name = run_.strings.intern(name), .description = run_.strings.intern(execution_.strings.at(group.description)), .ranks = group.ranks, .size = group.size});
    return static_cast<std::uint32_t>(run_.groups.size() - 1);
  }

  /// An operation of the profile is that of the execution trace whose operator is around it. What lies between two such pairs, or where no operators
  /// are common, is paired in order if both files have as many of its kind there; the rest is left as it is.
  void merge_collectives() {
    std::map<trace::CommKind, std::vector<const trace::Collective*>> theirs;
    for (const trace::Collective& collective : source_.collectives) theirs[collective.kind].push_back(&collective);
    std::map<trace::CommKind, std::vector<trace::Collective*>> mine;
    for (trace::Collective& collective : rank_.collectives) mine[collective.kind].push_back(&collective);
    for (auto& [kind, ours] : mine) {
      std::stable_sort(ours.begin(), ours.end(), [&](const trace::Collective* a, const trace::Collective* b) { return order_of_host(*a) < order_of_host(*b); });
    }
    for (const auto& [kind, list] : theirs) mine.try_emplace(kind);
    for (const auto& [kind, ours] : mine) merge_kind(ours, theirs[kind]);
  }

  void merge_kind(const std::vector<trace::Collective*>& ours, const std::vector<const trace::Collective*>& theirs) {
    const std::vector<std::size_t> around = by_operator(ours, theirs);
    std::size_t i = 0, k = 0;
    for (std::size_t next = 0; next <= ours.size(); ++next) {
      if (next < ours.size() && around[next] == kNowhere) continue;
      const std::size_t until = next < ours.size() ? around[next] : theirs.size();
      merge_stretch(ours, i, next, theirs, k, until);
      if (next == ours.size()) break;
      fill(*ours[next], *theirs[until]);
      i = next + 1;
      k = until + 1;
    }
  }

  /// By operation of ours the place of its partner, ascending, or kNowhere.
  std::vector<std::size_t> by_operator(const std::vector<trace::Collective*>& ours, const std::vector<const trace::Collective*>& theirs) const {
    std::vector<std::size_t> around(ours.size(), kNowhere);
    std::size_t i = 0;
    for (std::size_t k = 0; k < theirs.size(); ++k) {
      const auto mapped = theirs[k]->host_op == trace::kNone ? to_mine_.end() : to_mine_.find(theirs[k]->host_op);
      if (mapped == to_mine_.end()) continue;
      const trace::HostOp& op = rank_.ops[mapped->second];
      while (i < ours.size() && order_of_host(*ours[i]) < op.start) ++i;
      if (i < ours.size() && order_of_host(*ours[i]) <= op.start + op.duration) around[i++] = k;
    }
    return around;
  }

  void merge_stretch(const std::vector<trace::Collective*>& ours, std::size_t i, std::size_t i_end, const std::vector<const trace::Collective*>& theirs, std::size_t k, std::size_t k_end) {
    if (i_end - i == k_end - k) {
      for (; i < i_end; ++i, ++k) fill(*ours[i], *theirs[k]);
      return;
    }
    const auto example = [&](const trace::Collective& c, const trace::ImportedRun& run) { return fmt::format("{}: {} (a {}), operation {} of its group", rank_.file, run.strings.at(c.name), trace::name_of(c.kind), c.sequence); };
    if (i < i_end) count("merged_collective_only_in_profile", Severity::error, example(*ours[i], run_), i_end - i);
    if (k < k_end) count("merged_collective_only_in_execution_trace", Severity::error, example(*theirs[k], execution_), k_end - k);
  }

  std::int64_t order_of_host(const trace::Collective& collective) const {
    if (collective.host_op != trace::kNone) return rank_.ops[collective.host_op].start;
    if (collective.device_op == trace::kNone) return 0;
    const std::uint32_t call = rank_.device_ops[collective.device_op].call;
    return call != trace::kNone ? rank_.calls[call].start : rank_.device_ops[collective.device_op].start;
  }

  void fill(trace::Collective& mine, const trace::Collective& theirs) {
    count("merged_collective", Severity::info, fmt::format("{} of {} bytes", trace::name_of(mine.kind), theirs.bytes));
    if (mine.bytes >= 0 && theirs.bytes >= 0 && mine.bytes != theirs.bytes) {
      count("merged_collective_size_differs", Severity::warning, fmt::format("{}: {} of {} bytes in the profile, {} in the execution trace; the profile's is kept", rank_.file, trace::name_of(mine.kind), mine.bytes, theirs.bytes));
    }
    if (mine.bytes < 0 && theirs.bytes >= 0) {
      mine.bytes = theirs.bytes;
      count("merged_collective_size", Severity::info, fmt::format("{} of {} bytes", trace::name_of(mine.kind), theirs.bytes));
    }
    if (mine.dtype == 0) mine.dtype = run_.strings.intern(execution_.strings.at(theirs.dtype));
    mine.uneven = mine.uneven || theirs.uneven;
    if (mine.group == trace::kNone && theirs.group != trace::kNone) {
      mine.group = group_of(theirs.group);
      mine.sequence = theirs.sequence;
      count("merged_collective_group", Severity::info, execution_.strings.at(execution_.groups[theirs.group].name));
    }
  }

  trace::ImportedRun& run_;
  trace::RankTrace& rank_;
  const trace::ImportedRun& execution_;
  const trace::RankTrace& source_;
  std::unordered_map<std::uint32_t, std::uint32_t> to_mine_;
};

}  // namespace

std::string merge(trace::ImportedRun& run, const trace::ImportedRun& execution) { return merge(std::vector{&run}, execution); }

std::string merge(const std::vector<trace::ImportedRun*>& runs, const trace::ImportedRun& execution) {
  for (const trace::RankTrace& source : execution.ranks) {
    const std::string process = process_of(execution, source);
    std::vector<std::pair<trace::ImportedRun*, trace::RankTrace*>> partners;
    for (trace::ImportedRun* run : runs) {
      for (trace::RankTrace& rank : run->ranks) {
        if (!process.empty() && process_of(*run, rank) == process) partners.emplace_back(run, &rank);
      }
    }
    trace::ImportedRun& first = *runs.front();
    if (partners.empty() && runs.size() == 1 && first.ranks.size() == 1 && execution.ranks.size() == 1) {
      const Aligner aligner(first, first.ranks.front(), execution, source);
      const std::size_t common = aligner.run().size(), least = aligner.least_ops();
      if (common == 0 || 2 * common < least) {
        return fmt::format("{} and {}: different process ids, and {} of at least {} operators in common: of another program", source.file, first.ranks.front().file, common, least);
      }
      partners.emplace_back(&first, &first.ranks.front());
      first.report.add("import.pytorch_et.merged_by_being_alone", Severity::warning, fmt::format("{} and {} have different process ids", source.file, first.ranks.front().file));
    }
    if (partners.empty()) {
      first.report.add("import.pytorch_et.rank_without_profile", Severity::error, source.file);
      continue;
    }
    if (partners.size() > 1) {
      partners.front().first->report.add("import.pytorch_et.profile_ambiguous", Severity::warning, fmt::format("{}: process {} of {} and of {}; the last is taken", source.file, process, partners.front().second->file, partners.back().second->file));
    }
    Merger(*partners.back().first, *partners.back().second, execution, source).merge();
  }
  return {};
}

}  // namespace sgsim::import::pytorch_et
