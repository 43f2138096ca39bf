#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/graph/collective.h"
#include "sim/trace/strings.h"

namespace sgsim::trace {

/// Integer nanoseconds on the clock of the rank's file (absolute where the file is; 2^63 ns are 292 years).
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();  // the format has no times, or none here
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();  // absent index

/// One host thread of one process. Process and thread ids are text: some files have words there.
struct Thread {
  Text process = 0, thread = 0, name = 0;
  bool operator==(const Thread&) const = default;
};

/// One in-order queue of a device.
struct Stream {
  std::uint32_t device = 0;
  std::int64_t stream = 0;  // the id of the file
  Text name = 0;
  bool operator==(const Stream&) const = default;
};

enum class HostKind : std::uint8_t { op, annotation, python };

/// Framework work on a host thread: an aten operator, an annotation ("## Call CompiledFxGraph ..."), a python function.
struct HostOp {
  Nanoseconds start = kNoTime, duration = 0;
  std::int64_t id = -1;          // "External id" of Kineto, node id of execution traces and Chakra
  Text name = 0, shapes = 0;     // shapes: "[[4, 2048], []] [float, Scalar]", empty when not recorded
  std::uint32_t thread = 0;      // RankTrace::threads
  HostKind kind = HostKind::op;
  bool operator==(const HostOp&) const = default;
};

/// What a CUDA/HIP API call does to the order of things.
enum class CallKind : std::uint8_t {
  launch, graph_launch, copy, set,            // put work on a stream
  event_record, stream_wait_event,            // order streams
  event_sync, stream_sync, device_sync,       // the host waits
  event_query, allocate, other,
};

/// One runtime or driver call on a host thread.
struct HostCall {
  Nanoseconds start = kNoTime, duration = 0;
  std::int64_t correlation = -1;
  Text name = 0;
  std::uint32_t thread = 0;
  CallKind kind = CallKind::other;
  std::uint32_t op = kNone;            // innermost RankTrace::ops around it, where known
  std::uint32_t stream = kNone;        // event_record / waits: the stream, where the file says
  std::int64_t event = -1;             // event id, where the file says
  std::int64_t record_correlation = -1;// waits: correlation of the record waited for, where the file says
  bool operator==(const HostCall&) const = default;
};

enum class DeviceKind : std::uint8_t { kernel, copy, set };

/// One activity of a device stream.
struct DeviceOp {
  Nanoseconds start = kNoTime, duration = 0;
  std::int64_t correlation = -1;      // of its launch; all nodes of a CUDA graph share one
  std::int64_t graph_node = 0;        // CUDA graph node id, 0 when launched alone or unknown
  Text name = 0;
  std::uint32_t stream = 0;           // RankTrace::streams
  std::uint32_t call = kNone;         // RankTrace::calls: its launch
  std::uint32_t op = kNone;           // RankTrace::ops: the innermost operator around the launch
  std::uint32_t collective = kNone;   // RankTrace::collectives
  std::uint32_t blocks = 0;           // grid size in blocks
  double bytes = 0.0;                 // of copies and sets; of kernels where the file counts them (timelines of sgsim)
  double flops = 0.0;                 // of kernels, likewise; 0: not in the file
  Text layer = 0;                     // "layers.3", where annotations, modules or the file say
  DeviceKind kind = DeviceKind::kernel;
  bool operator==(const DeviceOp&) const = default;
};

/// Operations that are no collective of graph::CollectiveOp keep their kind here.
enum class CommKind : std::uint8_t {
  all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send, receive, send_receive, barrier, other };

/// A member's part of one operation of a communicator. One may be several device kernels (and several may share one).
struct Collective {
  CommKind kind = CommKind::other;
  Text name = 0;                      // as the file says: "_allgather_base"
  std::uint32_t group = kNone;        // ImportedRun::groups; kNone: unknown
  std::uint32_t sequence = 0;         // order among this rank's operations of this group
  double bytes = -1.0;                // nccl-tests size (graph/collective.h); -1: not in the file
  Text dtype = 0;
  std::int32_t peer = -1;             // send, receive: group rank, where known
  bool uneven = false;                // all-to-all with differing splits
  std::uint32_t device_op = kNone;    // its kernel
  std::uint32_t host_op = kNone;      // the framework's record of it ("record_param_comms", "nccl:all_reduce")
  Nanoseconds waiting = 0;            // before the kernel's start, for the last member: where the file tells it apart (timelines of sgsim)
  bool operator==(const Collective&) const = default;
};

/// A communicator. `ranks` empty: only its size is known (or 0: nothing).
struct Group {
  Text name = 0, description = 0;
  std::vector<std::int32_t> ranks;    // ascending as the file lists them: group rank i is global rank ranks[i]
  std::uint32_t size = 0;
  bool operator==(const Group&) const = default;
};

/// One training step as marked ("ProfilerStep#3"), on the host.
struct Step {
  std::int64_t number = -1;
  Nanoseconds start = kNoTime, duration = 0;
  std::uint32_t thread = 0;
  bool operator==(const Step&) const = default;
};

/// A dependency that the file itself states (Chakra, execution traces, nsys).
enum class NodeTable : std::uint8_t { ops, calls, device_ops };
struct Node {
  NodeTable table = NodeTable::ops;
  std::uint32_t index = 0;
  auto operator<=>(const Node&) const = default;
};
struct Edge {
  Node from, to;
  bool data = false;                  // false: order or control
  bool operator==(const Edge&) const = default;
};

/// All that one rank's file (or files) say. Times: one clock.
struct RankTrace {
  std::string file;
  std::int32_t rank = -1;             // -1: the file does not say
  std::uint32_t world_size = 0;       // 0: the file does not say
  std::string host;
  std::string gpu;                    // "NVIDIA H200"; empty when unknown
  std::vector<Thread> threads;
  std::vector<Stream> streams;
  std::vector<HostOp> ops;            // by start where there are times
  std::vector<HostCall> calls;        // by start
  std::vector<DeviceOp> device_ops;   // by start
  std::vector<Collective> collectives;// by start of the kernel
  std::vector<Step> steps;            // by start
  std::vector<Edge> edges;            // stated by the file
  bool ends_early = false;            // the file is cut: records are missing from its end
  bool operator==(const RankTrace&) const = default;
};

/// A run as imported: one entry a rank, names shared, and what became of every record (`report`).
struct ImportedRun {
  std::string format;                 // "kineto"
  StringTable strings;
  std::vector<Group> groups;
  std::vector<RankTrace> ranks;       // ascending rank; files without rank in file order after them
  Diagnostics report;                 // "import.kineto.<what>"; info: read, warning: repaired or guessed, error: dropped
  bool operator==(const ImportedRun&) const = default;
};

[[nodiscard]] const char* name_of(CommKind kind);
/// Nothing where the cost model has no such operation.
[[nodiscard]] std::optional<graph::CollectiveOp> collective_op(CommKind kind);

}  // namespace sgsim::trace
