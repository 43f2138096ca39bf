#pragma once

#include "sim/cluster/placement.h"
#include "sim/core/diagnostics.h"
#include "sim/cost/estimate.h"
#include "sim/graph/collective.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

struct Profile;  // profile.h: what a GPU and its links can do, with provenance

/// Device time of one kernel, alone, launch gap excluded. Outside the measured range: the analytic bound with the
/// fitted constants and a diagnostic "cost.<kind>.outside_measured_range".
[[nodiscard]] Estimate kernel_time(const Profile& profile, const graph::Work& work, Diagnostics& diagnostics);

/// Time of one collective from the moment its last member arrives, chosen as NCCL's tuner would.
/// `bytes` is the nccl-tests size (graph/collective.h).
[[nodiscard]] TransferEstimate collective_time(const Profile& profile, graph::CollectiveOp op, Bytes bytes,
                                               const cluster::GroupShape& group, Diagnostics& diagnostics);

/// How the host launches work in one execution mode: eager, compiled, CUDA graph (compile::Execution).
struct LaunchModel {
  Seconds host_per_operator;   // eager: dispatch of one aten call; compiled: of one extern call
  Seconds host_per_kernel;     // enqueue of one kernel
  Seconds host_per_collective; // enqueue of one NCCL operation through the framework
  Seconds host_per_graph;      // launch of one CUDA graph
  Seconds host_per_step;       // data loader hand-over, optimizer bookkeeping, loop
  Seconds launch_latency;      // from host call to first instruction on an idle device
  Seconds device_gap;          // least time between two kernels of one stream
  Seconds host_backward_extra; // autograd engine, one backward operator (eager)
  bool operator==(const LaunchModel&) const = default;
};
enum class LaunchMode : std::uint8_t { eager, compiled, cuda_graph };
[[nodiscard]] LaunchModel launch_model(const Profile& profile, LaunchMode mode);

/// How computation and communication slow each other when they overlap on one GPU (>= 1).
struct Interference {
  double compute_slowdown = 1.0;
  double transfer_slowdown = 1.0;
};
[[nodiscard]] Interference interference(const Profile& profile, bool inter_node);

}  // namespace sgsim::cost
