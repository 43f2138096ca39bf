#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// How an edge between streams came to be known, from certain to inferred.
enum class EdgeSource : std::uint8_t {
  stated,      // the file names the event's record and the waiting stream
  collective,  // a communicator's stream waits for the stream its operation was called from
  recorded,    // an event recorded and waited for between two launches of one thread: the first stream, then the second; never against the times
  observed,    // the kernel started when the other one ended, and nothing else held it back
  repeated,    // kernels of these names were observed so, and never against it
};

/// Device operation `to` starts no earlier than `from` ends; they are on different streams.
struct StreamEdge {
  std::uint32_t from = 0, to = 0;
  EdgeSource source = EdgeSource::stated;
  auto operator<=>(const StreamEdge&) const = default;
};

/// Why the host goes on at the end of a call and not before.
enum class WaitKind : std::uint8_t { synchronise, copy, queue_full };
struct HostWait {
  std::uint32_t call = 0;                 // RankTrace::calls
  std::vector<std::uint32_t> device_ops;  // that end first
  WaitKind kind = WaitKind::synchronise;
  bool operator==(const HostWait&) const = default;
};

/// What the order of things on one rank depends on, beside the order within each stream. Every edge agrees with the measured times.
struct Dependencies {
  std::vector<std::uint32_t> order;       // all device operations in the order the host issued them
  std::vector<Nanoseconds> issue;         // by device operation: when the host began to issue it
  std::vector<StreamEdge> edges;          // by `to` in host order
  std::vector<HostWait> waits;            // by call
  std::vector<std::uint32_t> stream_before;  // by device operation: the one before it on its stream, or kNone
  Diagnostics report;                     // "import.dependencies.<what>"
};

/// Recovers them from launches, event records and waits, synchronising calls, the depth of launch queues and, where files do
/// not name events, from the times themselves. Needs times; operations without are left out.
[[nodiscard]] Dependencies recover_dependencies(const ImportedRun& run, const RankTrace& rank);

}  // namespace sgsim::trace
