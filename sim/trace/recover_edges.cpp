#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/trace/recover.h"

namespace sgsim::trace {
namespace {

class EdgeFinder {
 public:
  EdgeFinder(const ImportedRun& run, const RankTrace& rank, Dependencies& result)
      : run_(run), rank_(rank), result_(result), issued_(rank.streams.size()), held_until_(rank.device_ops.size(), kNoTime) {
    for (const HostCall& call : rank.calls) {
      if (call.kind == CallKind::stream_wait_event) waits_.push_back(call.start);
      if (call.kind == CallKind::event_record && call.correlation > 0) records_.emplace(call.correlation, &call);
    }
    for (const std::uint32_t op : result.order) issued_[rank.device_ops[op].stream].push_back(op);
  }

  void find() {
    if (rank_.streams.size() < 2) return;
    stated();
    of_collectives();
    recorded();
    observed();
    repeated();
    finish();
  }

 private:
  const DeviceOp& op(std::uint32_t i) const { return rank_.device_ops[i]; }

  // The last operation of a stream that the host issued before a time; kNone if there is none.
  std::uint32_t last_issued(std::uint32_t stream, Nanoseconds before) const {
    const auto& list = issued_[stream];
    const auto it = std::lower_bound(list.begin(), list.end(), before, [&](std::uint32_t i, Nanoseconds t) { return result_.issue[i] < t; });
    return it == list.begin() ? kNone : *(it - 1);
  }
  std::uint32_t first_issued(std::uint32_t stream, Nanoseconds after) const {
    const auto& list = issued_[stream];
    const auto it = std::lower_bound(list.begin(), list.end(), after, [&](std::uint32_t i, Nanoseconds t) { return result_.issue[i] < t; });
    return it == list.end() ? kNone : *it;
  }

  // The host told some stream to wait between issuing the one before `to` on its stream and `to`.
  bool wait_before(std::uint32_t to) const {
    if (waits_.empty()) return false;
    const std::uint32_t before = result_.stream_before[to];
    const Nanoseconds from = before == kNone ? kNoTime : result_.issue[before];
    const auto it = std::lower_bound(waits_.begin(), waits_.end(), from);
    return it != waits_.end() && *it <= result_.issue[to];
  }

  void add(std::uint32_t from, std::uint32_t to, EdgeSource source) {
    if (op(from).stream == op(to).stream) return;
    if (end_of(op(from)) > op(to).start + 1'000) {
      result_.report.add("import.dependencies.edge_against_times", Severity::warning, run_.strings.at(op(to).name));
      return;
    }
    if (!known_.emplace(from, to).second) return;
    result_.edges.push_back({from, to, source});
    held_until_[to] = std::max(held_until_[to], end_of(op(from)));
    constexpr const char* kNames[] = {"edge_stated", "edge_of_collective", "edge_recorded", "edge_observed", "edge_repeated"};
    result_.report.add(std::string("import.dependencies.") + kNames[static_cast<int>(source)], source < EdgeSource::recorded ? Severity::info : Severity::warning,
                       run_.strings.at(op(from).name).substr(0, 60) + " -> " + run_.strings.at(op(to).name).substr(0, 60));
  }

  void stated() {
    for (const HostCall& wait : rank_.calls) {
      if (wait.kind != CallKind::stream_wait_event || wait.record_correlation <= 0 || wait.stream == kNone) continue;
      const auto record = records_.find(wait.record_correlation);
      if (record == records_.end() || record->second->stream == kNone) continue;
      const std::uint32_t from = last_issued(record->second->stream, record->second->start);
      const std::uint32_t to = first_issued(wait.stream, wait.start);
      if (from != kNone && to != kNone) add(from, to, EdgeSource::stated);
    }
  }

  void of_collectives() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_thread;
    for (const std::uint32_t i : result_.order) {
      const std::uint32_t call = op(i).call;
      if (call == kNone) continue;
      auto& earlier = by_thread[rank_.calls[call].thread];
      if (op(i).collective != kNone) {
        for (auto it = earlier.rbegin(); it != earlier.rend() && it - earlier.rbegin() < 64; ++it) {
          if (op(*it).collective != kNone) continue;
          add(*it, i, EdgeSource::collective);
          break;
        }
      }
      earlier.push_back(i);
    }
  }

  // Record and wait with no launch between: the stream of the launch before waits for nothing, that of the launch after for it.
  // NCCL does the same within its own launches, for streams that are not told; a pair of streams that is once against the times is left out.
  void recorded() {
    struct Pair {
      std::uint32_t from, to;
    };
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::vector<Pair>> pairs;
    std::map<std::uint32_t, std::vector<std::uint32_t>> launched;  // by thread, in order
    for (const std::uint32_t i : result_.order) {
      if (op(i).call != kNone) launched[rank_.calls[op(i).call].thread].push_back(i);
    }
    std::map<std::uint32_t, Nanoseconds> last_record;
    for (const HostCall& call : rank_.calls) {
      if (call.kind == CallKind::event_record) last_record[call.thread] = call.start;
      const auto record = last_record.find(call.thread);
      const auto mine = launched.find(call.thread);
      if (call.kind != CallKind::stream_wait_event || call.record_correlation > 0 || record == last_record.end() || mine == launched.end()) continue;
      const auto& list = mine->second;
      const auto after = std::lower_bound(list.begin(), list.end(), call.start, [&](std::uint32_t i, Nanoseconds t) { return result_.issue[i] < t; });
      if (after == list.end() || after == list.begin()) continue;
      const std::uint32_t to = *after, from = *(after - 1);
      if (result_.issue[from] > record->second || op(from).stream == op(to).stream) continue;
      pairs[{op(from).stream, op(to).stream, op(from).collective != kNone}].push_back({from, to});
    }
    for (const auto& [site, list] : pairs) {
      const bool refuted = std::any_of(list.begin(), list.end(), [&](const Pair& p) { return end_of(op(p.from)) > op(p.to).start + 1'000; });
      for (const Pair& p : list) {
        if (!refuted) add(p.from, p.to, EdgeSource::recorded);
      }
    }
  }

  // What else held back `to`: the operation of another stream that ended just before it started.
  void observed() {
    std::vector<std::pair<Nanoseconds, std::uint32_t>> ends;
    for (const std::uint32_t i : result_.order) ends.emplace_back(end_of(op(i)), i);
    std::sort(ends.begin(), ends.end());
    for (const std::uint32_t to : result_.order) {
      const DeviceOp& k = op(to);
      const std::uint32_t before = result_.stream_before[to];
      Nanoseconds ready = std::max(result_.issue[to] + kLeastLaunch, held_until_[to]);
      if (before != kNone) ready = std::max(ready, end_of(op(before)));
      if (k.start - ready < kUnexplained || (!waits_.empty() && !wait_before(to))) continue;
      auto it = std::upper_bound(ends.begin(), ends.end(), std::pair(k.start + 500, kNone));
      while (it != ends.begin()) {
        --it;
        if (it->first < k.start - kStartsAfter) break;
        const DeviceOp& j = op(it->second);
        if (j.stream == k.stream || result_.issue[it->second] > result_.issue[to] || it->first <= ready) continue;
        add(it->second, to, EdgeSource::observed);
        break;
      }
    }
  }

  void repeated() {
    using Site = std::tuple<Text, std::uint32_t, Text, std::uint32_t>;  // name and stream of both
    std::set<Site> sites;
    for (const StreamEdge& e : result_.edges) {
      if (e.source == EdgeSource::observed) sites.emplace(op(e.from).name, op(e.from).stream, op(e.to).name, op(e.to).stream);
    }
    if (sites.empty() || waits_.empty()) return;
    std::map<std::pair<Text, std::uint32_t>, std::vector<std::pair<Text, std::uint32_t>>> sources;
    for (const auto& [from, from_stream, to, to_stream] : sites) sources[{to, to_stream}].emplace_back(from, from_stream);
    std::map<Site, std::vector<std::pair<std::uint32_t, std::uint32_t>>> more;
    std::set<Site> refuted;
    std::map<std::pair<Text, std::uint32_t>, std::uint32_t> latest;
    for (const std::uint32_t i : result_.order) {
      const DeviceOp& k = op(i);
      if (const auto found = sources.find({k.name, k.stream}); found != sources.end() && wait_before(i)) {
        for (const auto& [from, from_stream] : found->second) {
          const auto j = latest.find({from, from_stream});
          if (j == latest.end()) continue;
          const Site site{from, from_stream, k.name, k.stream};
          if (end_of(op(j->second)) > k.start + 1'000) refuted.insert(site);
          more[site].emplace_back(j->second, i);
        }
      }
      latest[{k.name, k.stream}] = i;
    }
    for (const auto& [site, edges] : more) {
      if (refuted.count(site) != 0) continue;
      for (const auto& [from, to] : edges) add(from, to, EdgeSource::repeated);
    }
  }

  void finish() {
    std::vector<std::uint32_t> place(rank_.device_ops.size(), 0);
    for (std::uint32_t p = 0; p < result_.order.size(); ++p) place[result_.order[p]] = p;
    std::stable_sort(result_.edges.begin(), result_.edges.end(), [&](const StreamEdge& a, const StreamEdge& b) { return place[a.to] < place[b.to]; });
  }

  const ImportedRun& run_;
  const RankTrace& rank_;
  Dependencies& result_;
  std::vector<std::vector<std::uint32_t>> issued_;
  std::vector<Nanoseconds> held_until_;
  std::vector<Nanoseconds> waits_;
  std::map<std::int64_t, const HostCall*> records_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known_;
};

}  // namespace

void recover_edges(const ImportedRun& run, const RankTrace& rank, Dependencies& result) { EdgeFinder(run, rank, result).find(); }

}  // namespace sgsim::trace
