#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/protobuf_wire.h"
#include "sim/export/export.h"
#include "sim/export/times.h"

namespace sgsim::exporting {
namespace {

using protobuf::Writer;

// Field numbers of perfetto.protos.TracePacket, TrackDescriptor, TrackEvent and InternedData.
constexpr std::uint32_t kPacket = 1, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kCleared = 1, kNeedsState = 2;
constexpr std::uint64_t kOurSequence = 1;

struct Slice {
  trace::Nanoseconds start = 0, end = 0;
  trace::Text name = 0;
  std::uint64_t flow = 0;      // arrow that begins or ends here; 0: none
  bool flow_ends = false;
  double bytes = -1.0;         // of communications and copies
};

class TraceWriter {
 public:
  TraceWriter(const trace::ImportedRun& run, Diagnostics& report) : run_(run), report_(report) {}

  std::string write() {
    put(Writer().varint(kSequence, kOurSequence).varint(kSequenceFlags, kCleared));
    base_ = std::numeric_limits<trace::Nanoseconds>::max();
    for (const trace::RankTrace& rank : run_.ranks) {
      if (has_times(rank)) base_ = std::min(base_, first_time(rank));
    }
    for (std::size_t i = 0; i < run_.ranks.size(); ++i) write_rank(run_.ranks[i], i);
    return std::move(out_);
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { report_.add(fmt::format("export.perfetto.{}", what), severity, example); }
  void put(const Writer& packet) { out_ += Writer().message(kPacket, packet).bytes(); }

  void write_rank(const trace::RankTrace& rank, std::size_t index) {
    const auto pid = static_cast<std::int64_t>(index) + 1;
    const std::string name = rank.rank >= 0 ? fmt::format("rank {}", rank.rank) : fmt::format("rank ? ({})", rank.file);
    const std::uint64_t process = ++uuids_;
    put(Writer().varint(kSequence, kOurSequence).message(kTrackDescriptor, Writer().varint(1, process).message(3, Writer().integer(1, pid).text(6, name))));
    flow_base_ = static_cast<std::uint64_t>(index) << 40U;
    std::vector<std::vector<Slice>> threads(rank.threads.size() + 1), streams(rank.streams.size() + 1);
    collect(rank, threads, streams);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const std::string label = i < rank.threads.size() ? thread_name(rank.threads[i]) : "host";
      write_track(process, label, threads[i]);
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const std::string label = i >= rank.streams.size() ? "device" : fmt::format("stream {}{}", rank.streams[i].stream, rank.streams[i].name != 0 ? " " + run_.strings.at(rank.streams[i].name) : "");
      write_track(process, label, streams[i]);
    }
  }

  std::string thread_name(const trace::Thread& thread) const {
    const std::string& name = run_.strings.at(thread.name);
    return name.empty() ? "thread " + run_.strings.at(thread.thread) : name;
  }

  void collect(const trace::RankTrace& rank, std::vector<std::vector<Slice>>& threads, std::vector<std::vector<Slice>>& streams) {
    const auto place = [](auto& tracks, std::uint32_t index) -> std::vector<Slice>& { return tracks[std::min<std::size_t>(index, tracks.size() - 1)]; };
    const auto timed = [&](trace::Nanoseconds start, trace::Text name) {
      if (start == trace::kNoTime) count("without_time", Severity::error, run_.strings.at(name));
      return start != trace::kNoTime;
    };
    for (const trace::HostOp& op : rank.ops) {
      if (timed(op.start, op.name)) place(threads, op.thread).push_back({.start = op.start, .end = op.start + std::max<trace::Nanoseconds>(0, op.duration), .name = op.name});
    }
    std::vector<bool> launches(rank.calls.size(), false);
    for (const trace::DeviceOp& op : rank.device_ops) {
      if (!timed(op.start, op.name)) continue;
      Slice slice{.start = op.start, .end = op.start + std::max<trace::Nanoseconds>(0, op.duration), .name = op.name};
      if (op.call != trace::kNone && op.graph_node == 0 && !launches[op.call]) {
        launches[op.call] = true;
        slice.flow = flow_base_ + op.call + 1;
        slice.flow_ends = true;
      }
      if (op.collective != trace::kNone) slice.bytes = rank.collectives[op.collective].bytes;
      if (op.kind != trace::DeviceKind::kernel) slice.bytes = op.bytes;
      place(streams, op.stream).push_back(slice);
    }
    for (std::uint32_t i = 0; i < rank.calls.size(); ++i) {
      const trace::HostCall& call = rank.calls[i];
      if (!timed(call.start, call.name)) continue;
      place(threads, call.thread).push_back({.start = call.start, .end = call.start + std::max<trace::Nanoseconds>(0, call.duration), .name = call.name, .flow = launches[i] ? flow_base_ + i + 1 : 0});
    }
  }

  /// Slices nest on a track; one that overlaps another partly begins a track beside it.
  void write_track(std::uint64_t process, const std::string& name, std::vector<Slice>& slices) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
    struct Lane {
      std::uint64_t uuid = 0;
      std::vector<trace::Nanoseconds> open;
    };
    std::vector<Lane> lanes;
    for (const Slice& slice : slices) {
      Lane* chosen = nullptr;
      for (Lane& lane : lanes) {
        close_until(lane.uuid, lane.open, slice.start);
        if (chosen == nullptr && (lane.open.empty() || lane.open.back() >= slice.end)) chosen = &lane;
      }
      if (chosen == nullptr) {
        if (!lanes.empty()) count("overlapping_slice", Severity::warning, fmt::format("{}: {}", name, run_.strings.at(slice.name)));
        lanes.push_back({.uuid = ++uuids_, .open = {}});
        chosen = &lanes.back();
        const std::string label = lanes.size() == 1 ? name : fmt::format("{} ({})", name, lanes.size());
        put(Writer().varint(kSequence, kOurSequence).message(kTrackDescriptor, Writer().varint(1, chosen->uuid).text(2, label).varint(5, process)));
      }
      begin(chosen->uuid, slice);
      chosen->open.push_back(slice.end);
    }
    for (Lane& lane : lanes) close_until(lane.uuid, lane.open, std::numeric_limits<trace::Nanoseconds>::max());
  }

  void close_until(std::uint64_t track, std::vector<trace::Nanoseconds>& open, trace::Nanoseconds time) {
    while (!open.empty() && open.back() <= time) {
      put(packet(open.back()).message(kTrackEvent, Writer().varint(9, kEnd).varint(11, track)));
      open.pop_back();
    }
  }

  Writer packet(trace::Nanoseconds time) const { return Writer().varint(kTimestamp, static_cast<std::uint64_t>(time - base_)).varint(kSequence, kOurSequence).varint(kSequenceFlags, kNeedsState); }

  void begin(std::uint64_t track, const Slice& slice) {
    Writer one = packet(slice.start);
    const auto [interned, added] = names_.try_emplace(slice.name, names_.size() + 1);
    if (added) one.message(kInterned, Writer().message(2, Writer().varint(1, interned->second).text(2, run_.strings.at(slice.name).empty() ? "(no name)" : run_.strings.at(slice.name))));
    Writer event;
    event.varint(9, kBegin).varint(11, track).varint(10, interned->second);
    if (slice.bytes >= 0) event.message(4, Writer().text(10, "bytes").integer(4, static_cast<std::int64_t>(slice.bytes)));
    if (slice.flow != 0) event.fixed64_bits(slice.flow_ends ? 48 : 47, slice.flow);
    put(one.message(kTrackEvent, event));
    count("slice", Severity::info, run_.strings.at(slice.name));
  }

  const trace::ImportedRun& run_;
  Diagnostics& report_;
  std::string out_;
  std::uint64_t uuids_ = 0, flow_base_ = 0;
  trace::Nanoseconds base_ = 0;
  std::unordered_map<trace::Text, std::uint64_t> names_;
};

}  // namespace

std::string perfetto(const trace::ImportedRun& run, Diagnostics& report) {
  if (run.ranks.empty() || std::none_of(run.ranks.begin(), run.ranks.end(), [](const trace::RankTrace& rank) { return has_times(rank); })) {
    require_times(run.ranks.empty() ? trace::RankTrace{} : run.ranks.front(), "Perfetto");
  }
  return TraceWriter(run, report).write();
}

}  // namespace sgsim::exporting
