#include "sim/replay/overlaps.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/trace/recover.h"

namespace sgsim::replay {
namespace {

using trace::end_of;
using trace::kNone;
using trace::Nanoseconds;

class Separator {
 public:
  Separator(const trace::RankTrace& rank, const trace::Dependencies& d) : rank_(rank), d_(d), streams_(rank.streams.size()), running_(rank.device_ops.size()) {
    result_.lane.assign(rank.device_ops.size(), kNone);
    result_.beside.assign(rank.device_ops.size(), false);
    for (std::uint32_t i = 0; i < rank.device_ops.size(); ++i) {  // by start
      if (rank.device_ops[i].start != trace::kNoTime) streams_[rank.device_ops[i].stream].push_back(i);
    }
  }

  Overlaps separate() {
    for (const auto& stream : streams_) choose_lanes(stream);
    result_.dependencies = d_;
    if (result_.moved == 0) return std::move(result_);
    for (const auto& stream : streams_) order(stream);
    for (const trace::StreamEdge& e : d_.edges) {  // what waits for an operation waits for what its stream had before it
      for (const std::uint32_t from : running_[e.from]) {
        if (from != e.to && rank_.device_ops[e.to].start >= end_of(rank_.device_ops[from])) add(from, e.to);
      }
    }
    for (trace::HostWait& w : result_.dependencies.waits) {
      const std::vector<std::uint32_t> stated = w.device_ops;
      for (const std::uint32_t op : stated) {
        for (const std::uint32_t from : running_[op]) {
          if (end_of(rank_.calls[w.call]) >= end_of(rank_.device_ops[from])) w.device_ops.push_back(from);
        }
      }
    }
    return std::move(result_);
  }

 private:
  void choose_lanes(const std::vector<std::uint32_t>& stream) {
    std::vector<bool> outlasts(stream.size(), false);
    Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t i = stream.size(); i-- > 0;) {
      const Nanoseconds end = end_of(rank_.device_ops[stream[i]]);
      outlasts[i] = end > least;
      least = std::min(least, end);
    }
    std::vector<std::pair<std::uint32_t, Nanoseconds>> lanes;  // of this stream, and until when each is taken
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (!outlasts[i]) continue;
      const trace::DeviceOp& op = rank_.device_ops[stream[i]];
      auto free = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane.second <= op.start; });
      if (free == lanes.end()) {
        if (result_.lane_stream.size() == kMostLanes) {
          ++result_.not_kept;
          continue;
        }
        free = lanes.insert(free, {static_cast<std::uint32_t>(result_.lane_stream.size()), 0});
        result_.lane_stream.push_back(op.stream);
      }
      free->second = end_of(op);
      result_.lane[stream[i]] = free->first;
      ++result_.moved;
    }
  }

  void order(const std::vector<std::uint32_t>& stream) {
    std::uint32_t before = kNone;            // of those that stayed
    std::vector<std::uint32_t> running;      // in lanes, not waited for by one that stayed
    for (const std::uint32_t i : stream) {
      const Nanoseconds start = rank_.device_ops[i].start;
      const bool stays = result_.lane[i] == kNone;
      result_.dependencies.stream_before[i] = before;
      if (!stays && before != kNone) add(before, i);
      const auto ended = [&](std::uint32_t from) { return end_of(rank_.device_ops[from]) <= start; };
      for (const std::uint32_t from : running) {
        if (ended(from)) add(from, i);
      }
      if (stays) running.erase(std::remove_if(running.begin(), running.end(), ended), running.end());
      result_.beside[i] = std::any_of(running.begin(), running.end(), [&](std::uint32_t from) { return !ended(from); });
      running_[i] = running;
      if (stays) before = i;
      else running.push_back(i);
    }
  }

  void add(std::uint32_t from, std::uint32_t to) { result_.dependencies.edges.push_back({from, to, trace::EdgeSource::observed}); }

  const trace::RankTrace& rank_;
  const trace::Dependencies& d_;
  std::vector<std::vector<std::uint32_t>> streams_;  // operations of each, by start
  std::vector<std::vector<std::uint32_t>> running_;  // by device operation: those in lanes beside it that began before it
  Overlaps result_;
};

}  // namespace

void tell_overlaps(const Overlaps& overlaps, const std::string& whose, Diagnostics& report) {
  if (overlaps.moved > 0) report.add("import.replay.overlaps_of_several_kept", Severity::warning, whose + ": they outlast a later operation of their stream, and run beside it", overlaps.moved);
  if (overlaps.not_kept > 0) report.add("import.replay.overlaps_not_kept", Severity::error, whose + ": more at once than are kept; the next waits for their end", overlaps.not_kept);
}

Overlaps separate_overlaps(const trace::RankTrace& rank, const trace::Dependencies& dependencies) { return Separator(rank, dependencies).separate(); }

}  // namespace sgsim::replay
