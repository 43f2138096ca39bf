#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/quantity.h"
#include "sim/graph/collective.h"
#include "sim/graph/graph.h"
#include "sim/graph/work.h"

namespace sgsim::compile {

/// How the step is executed; decides fusion and the launch behaviour of host and device.
enum class Execution : std::uint8_t { eager, compiled, cuda_graph };

/// A collective that stands in the graph (inserted by tensor, context or expert parallelism, or captured).
struct Communication {
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  std::string group;  // "tp", "cp", "ep", "dp"
  Bytes bytes;        // nccl-tests size: the full buffer (all-gather: gathered size, reduce-scatter: input size)
};

/// One launch on the device: an operator or a fused group. Exactly one of `work` and `communication` is meaningful.
struct Kernel {
  std::string name;                 // "mm", "fused_add_rms_norm", as the timeline shows it
  std::vector<NodeId> nodes;        // operators it covers, of the graph it was made from
  graph::Work work;
  bool is_communication = false;
  Communication communication;
  graph::Phase phase = graph::Phase::forward;
  ModuleId module;                  // module of the operator whose result it computes first
  std::vector<KernelId> inputs;     // kernels whose results it reads (indices in CompiledGraph::kernels, all smaller)
  std::vector<graph::ValueRef> saved;  // values it makes that are read by other kernels or saved (for liveness)
  std::vector<graph::ValueRef> reads;  // values it reads from memory: parameters, inputs, and other kernels' `saved`
  Bytes scratch;                    // results with no value in the graph (partial sums, softmax statistics) that later kernels read
  std::uint32_t piece = 0;          // compiled piece it belongs to (graph breaks, sim/compile/breaks.h); one launch a piece and phase in a CUDA graph
  bool host_waits = false;          // run eagerly: the host reads its result (a copy to the CPU, .item()) and goes on when it has arrived
  int host_operators = 1;           // aten calls the eager host dispatches for it (views counted), 1 when compiled
};

/// Kernels in launch order. When compiled, a forward operator that the backward pass recomputes is covered by kernels of
/// both phases (the partitioner chooses what to save as PyTorch's does: sim/compile/partition.h); use `reads` and `saved`
/// for liveness, not the operators' arguments.
struct CompiledGraph {
  graph::OperatorGraph graph;  // the graph that was compiled: `nodes`, `reads` and `saved` refer to it
  Execution execution = Execution::compiled;
  std::vector<Kernel> kernels;
};

}  // namespace sgsim::compile
