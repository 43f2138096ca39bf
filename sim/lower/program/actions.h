#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/ids.h"
#include "sim/graph/collective.h"
#include "sim/graph/graph.h"
#include "sim/graph/work.h"
#include "sim/lower/lower.h"

namespace sgsim::lower {

/// The end of something asynchronous of one program: whoever waits for it waits for its latest production.
using Token = Id<struct CompletionTag>;

/// Communicators that one rank can belong to; a program's slots are the ones it uses.
enum class Slot : std::uint8_t {
  tensor, context, expert,       // tp, cp, ep
  data,                          // dp x cp: ranks that hold the same parameters
  expert_data,                   // ranks that hold the same experts
  shard, replicate,              // hybrid shard: data = shard x replicate
  forward_out, forward_in,       // pipeline: activations to the next chunk's rank, from the previous
  backward_out, backward_in,     // gradients to the previous chunk's rank, from the next
  embedding,                     // first and last stage: tied embeddings
  model,                         // tp x pp: the gradient norm
};
inline constexpr std::size_t kSlots = 13;

/// A collective or a point-to-point transfer, issued now on its own stream.
struct Communicate {
  Slot slot = Slot::data;
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  TaskKind kind = TaskKind::collective;
  Bytes payload;
  std::string name;            // "reduce_scatter dp"
  std::string stream;          // streams are made on first use
  bool after_compute = true;   // waits for what stands on the compute stream by now
  std::vector<Token> waits = {};
  Token produces = {};         // invalid: nobody waits
  bool operator==(const Communicate&) const = default;
};

/// Kernels that the framework launches around the model's: copies of FSDP, gradient accumulation, the optimizer.
struct SideKernels {
  std::string name;
  std::string stream = "compute";
  graph::Work work;            // of one launch
  int launches = 1;
  int operators = 1;           // host dispatches for all of them
  graph::Phase phase = graph::Phase::backward;
  bool after_compute = false;  // other streams than "compute": waits for what stands there by now
  std::vector<Token> waits = {};
  Token produces = {};
  bool operator==(const SideKernels&) const = default;
};

/// The compute stream waits here.
struct Wait {
  Token token;
  bool operator==(const Wait&) const = default;
};

/// The host does `host` of work and dispatches `operators`, after waiting for `waits` (and for the compute stream if `after_compute`).
struct HostWork {
  std::string name;
  Seconds host = {};
  int operators = 0;           // as many eager dispatches
  bool after_compute = false;
  std::vector<Token> waits = {};
  bool operator==(const HostWork&) const = default;
};

/// A copy between host and device on a stream of its own.
struct HostCopy {
  std::string name;
  std::string stream;          // "to host", "to device"
  Seconds device = {};         // what the link takes for it
  graph::Phase phase = graph::Phase::forward;
  bool after_compute = true;   // waits for what stands on the compute stream by now
  std::vector<Token> waits = {};
  Token produces = {};
  bool operator==(const HostCopy&) const = default;
};

/// Memory is taken (delta > 0) or given back. `transient`: taken and given back at once, it only counts for the peak.
struct MemoryChange {
  MemoryClass memory_class = MemoryClass::activations;
  Bytes delta;
  bool transient = false;
  std::string label;           // "unsharded unit", for what is live at the peak
  std::string of = {};         // "layer 12": the place in the model that it belongs to; empty: none
  bool operator==(const MemoryChange&) const = default;
};

using Action = std::variant<Communicate, SideKernels, Wait, HostWork, MemoryChange, HostCopy>;

/// Actions before kernel `kernel` of a kernel list (its size: after the last).
struct Insertion {
  std::uint32_t kernel = 0;
  std::vector<Action> actions;
  bool operator==(const Insertion&) const = default;
};

/// What surrounds the kernels of one position of a chunk.
struct PositionActions {
  std::vector<Action> before_forward, after_forward;
  std::vector<Action> before_backward;      // before recomputation
  std::vector<Insertion> in_backward;       // ascending by kernel of the backward list
  std::vector<Action> after_backward;
  bool operator==(const PositionActions&) const = default;
};

/// What surrounds a chunk's passes over one micro-batch; `positions` may be empty (nothing anywhere).
struct ChunkActions {
  std::vector<Action> begin_forward, end_forward, begin_backward, end_backward;
  std::vector<PositionActions> positions;
  bool operator==(const ChunkActions&) const = default;
};

/// What happens once a step. Order: begin, passes, finish, optimizer, after_optimizer.
struct StepActions {
  std::vector<Action> begin, finish, after_optimizer;
  bool operator==(const StepActions&) const = default;
};

}  // namespace sgsim::lower
