#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/cost/cost.h"
#include "sim/graph/graph.h"
#include "sim/lower/stack.h"
#include "sim/lower/workload.h"
#include "sim/plan/plan.h"

namespace sgsim::lower {

enum class Optimizer : std::uint8_t { none, sgd, adamw };

/// Training settings that are neither model nor plan.
struct Training {
  graph::DType compute_dtype = graph::DType::bfloat16;   // autocast / mixed precision
  graph::DType parameter_dtype = graph::DType::float32;  // of the master parameters
  graph::DType gradient_dtype = graph::DType::float32;   // in which gradients are reduced and accumulated
  bool tf32 = false;               // float32 products may use TF32 (torch.set_float32_matmul_precision("high")); PyTorch's default is off
  bool autocast = true;            // cast at use; false: the parameters themselves are compute_dtype
  Optimizer optimizer = Optimizer::adamw;
  bool optimizer_fused = true;     // one multi-tensor kernel against one loop a parameter
  bool clip_gradients = false;     // global norm: a reduction over gradients and a small all-reduce
  compile::Execution execution = compile::Execution::compiled;
  Stack stack;                     // what the framework does around the plan
};

/// Everything lowering reads. The graph is one micro-batch on one device, unsharded.
struct Request {
  const graph::OperatorGraph& graph;
  const plan::ModelShape& model;
  const plan::Plan& plan;
  const Training& training;
  const cluster::Cluster& cluster;
  const cost::Profile& profile;
  bool merge_lockstep = false;   // shorter programs for the fast engine, same times (LowerOptions)
};

/// Memory of one rank class over the step, by kind.
enum class MemoryClass : std::uint8_t { parameters, gradients, optimizer, activations, buffers, communication, runtime };
inline constexpr std::size_t kMemoryClasses = 7;
struct MemoryPoint {
  std::uint32_t task = 0;                 // after this task of the program
  Bytes by_class[kMemoryClasses] = {};
};
struct Memory {
  Bytes peak;                             // allocated, as the allocator counts (the pool of CUDA graphs excluded)
  Bytes graph_pool;                       // CUDA graphs: most that lives in their private pool, which only `reserved` shows
  Bytes reserved;                         // with rounding and fragmentation, runtime and CUDA context included
  MemoryPoint at_peak;
  std::vector<MemoryPoint> curve;         // changes in program order
  std::vector<std::pair<std::string, Bytes>> live_at_peak;  // largest first
};

struct Lowered {
  Workload workload;
  std::vector<Memory> memory;             // by program
  Flops model_flops;                      // of one step of the whole job, recomputation excluded (MFU)
  Flops above_diagonal_flops;             // of them: what does not count if attention under an explicit mask or unfused is causal
  Flops hardware_flops;                   // recomputation included (HFU)
  std::vector<plan::Note> notes;
  Diagnostics diagnostics;
};

/// Graph + plan + cluster -> programs. An illegal plan comes back as its violations.
[[nodiscard]] std::variant<Lowered, std::vector<plan::Violation>> lower(const Request& request);

}  // namespace sgsim::lower
