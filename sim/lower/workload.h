#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/quantity.h"
#include "sim/cost/estimate.h"
#include "sim/graph/collective.h"

namespace sgsim::lower {

/// What a task is, for accounting and colours.
enum class TaskKind : std::uint8_t {
  compute,    // one kernel or a run of kernels launched back to back on one stream
  collective, // member of a group operation
  send,       // point-to-point: a group of two, rendezvous as NCCL's
  receive,
  copy,       // host-device copy
  host_sync,  // the host waits for its dependencies before it issues anything later (`.item()`, stream synchronise): it goes
              // on, and the task ends, at max(S, H) + host. Like every task it has a place in its stream: give it a stream of
              // its own unless it shall wait for the earlier tasks of that stream too
};

/// Wait until stream `stream` of this rank has finished its first `position` tasks.
struct Dependency {
  std::uint16_t stream = 0;
  std::uint32_t position = 0;
  auto operator<=>(const Dependency&) const = default;
};

/// One unit of work of a program. Streams are in order: a task starts when the previous task of its stream has
/// finished, its dependencies have finished, the host has issued it, and (communication) every member has arrived.
///
/// A run of kernels is composed exactly: with the stream and dependencies ready at S and the host at H when it begins
/// to issue the run, the run ends at max(S + device, H + issue_to_end) and the host is free at H + host.
/// For one kernel: issue_to_end = host + launch latency + device.
struct Task {
  TaskKind kind = TaskKind::compute;
  std::uint16_t stream = 0;
  std::uint32_t first_dependency = 0, dependency_count = 0;  // range of Program::dependencies
  Seconds device;         // device time alone; for communication the transfer time once all have arrived (fast engine)
  Seconds issue_to_end;   // from host starting to issue to the end, if nothing else holds it back
  Seconds host;           // host time to issue it
  std::uint32_t comm = 0; // communication only: index in Program::comms
  std::uint32_t segment = 0;       // index in Program::segments: which kernels, for timelines and explanations
  std::int32_t micro_batch = -1;   // -1: not of a micro-batch
};

/// The kernels behind a task, shared by all tasks that repeat them.
struct KernelCost {
  NameId name;              // Program::names
  std::uint32_t module = 0; // Program::names too: module path
  cost::Estimate estimate;
};
struct Segment {
  NameId name;                                   // "forward layers 10-19", "all_reduce tp"
  std::uint32_t first_kernel = 0, kernel_count = 0;  // range of Program::kernels, in launch order
  std::uint8_t phase = 0;                        // graph::Phase
  Seconds recompute;                             // share of `device` that is recomputation
  Seconds communication = {};                    // share of `device` that is collectives merged into the run (Part)
  std::uint32_t first_part = 0, part_count = 0;  // range of Program::parts; none: kernels only
};

/// A piece of a run with collectives in it (LowerOptions::merge_lockstep): kernels, or one collective. Parts follow each other
/// without a gap. A collective part is communication in every respect (accounting, interference, not slowed by a slow GPU), among
/// ranks in lockstep: the members of its group run one program at one speed and arrive together by symmetry, so that none waits.
/// The task's times are its parts' composed; once its first part has been issued, the host holds none of the others back.
struct Part {
  static constexpr std::uint32_t kKernels = 0xffffffffu;
  Seconds device, issue_to_end, host;            // as of a Task
  std::uint32_t comm = kKernels;                 // collective: index in Program::comms
  [[nodiscard]] bool is_collective() const { return comm != kKernels; }
};

/// A communication as a program uses it.
struct Comm {
  std::uint16_t slot = 0;          // RankBinding::groups[slot] is the communicator
  NameId name;                     // "reduce_scatter dp"
  cost::TransferEstimate transfer; // closed form, with the static share of its links
  Bytes payload;                   // nccl-tests size
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;  // of a collective: all members must use the same
};

/// What one rank runs. Tasks stand in host issue order. Equal ranks share one program.
struct Program {
  std::string name;                       // "stage 3"
  std::vector<std::string> streams;       // names: "compute", "tp", "dp", "pp send", ...
  std::vector<Task> tasks;
  std::vector<Dependency> dependencies;
  std::vector<Comm> comms;
  std::vector<Segment> segments;
  std::vector<Part> parts;                // of segments with merged collectives
  std::vector<KernelCost> kernels;
  std::vector<std::string> names;
  /// Slowing while computation and communication run at once on a rank (measured factors, >= 1): the kernels of a
  /// task advance at 1 / compute_slowdown, the transfer at 1 / transfer_slowdown.
  double compute_slowdown = 1.0, transfer_slowdown = 1.0;
};

/// One rank: its program, its GPU, its communicators.
struct RankBinding {
  ProgramId program;
  GpuId gpu;
  double speed = 1.0;             // compute speed against the profile (slow GPU: < 1)
  std::vector<GroupId> groups;    // by slot
};

/// A communicator: members in ring order. The k-th use by each (member, slot) forms the k-th operation; it starts when
/// the last member arrives and takes the longest `device` among the members' tasks.
struct Group {
  std::string kind;               // "tp", "dp", "pp"
  std::vector<RankId> members;
};

/// Everything an engine needs for one step of the whole job.
struct Workload {
  std::vector<Program> programs;
  std::vector<RankBinding> ranks;
  std::vector<Group> groups;
};

}  // namespace sgsim::lower
