#pragma once

#include <cstdint>
#include <vector>

#include "sim/lower/program/run_cost.h"
#include "sim/lower/program/task_costs.h"
#include "sim/lower/segments.h"
#include "sim/lower/stack.h"

namespace sgsim::lower {

/// One kernel or collective of a segment, priced.
struct Launch {
  const compile::Kernel* kernel = nullptr;
  cost::Estimate estimate;      // kernels only
  RunCost cost;                 // kernels: all; collectives: host part, the transfer is priced when the group is known
  std::uint32_t reader = 0;     // collectives: first kernel of the same list that needs the result; list size: none here
  bool float8 = false;          // kernels: runs as an 8-bit product, which its kernel's work does not say; gathers: of 8-bit elements
};

/// What runs: the kernel's work, an 8-bit product where `launch` says so.
[[nodiscard]] graph::Work work_of(const Launch& launch);

/// What a collective moves: half of what its kernel says where a tensor-parallel gather is of an 8-bit product's operand, which is
/// cast before it is gathered (Stack::float8_gather; pytorch/torchtitan docs/float8.md: "for TP by default").
[[nodiscard]] Bytes payload_of(const Launch& launch);

/// A segment's lists, priced once and shared by all its positions.
struct SegmentLaunches {
  const ModelSegment* segment = nullptr;
  std::vector<Launch> forward, recompute, backward;
  std::vector<Launch> input_gradients, weight_gradients;  // `backward` in two, if it is to be split (ModelSegment::weight_only)
};

/// The kernel before which a collective must be done: its first reader. torch.compile: a traced functional collective is followed by
/// its wait, and Inductor keeps that order (reorder_for_compute_comm_overlap is off by default): the ring of context parallelism
/// is waited for at once.
[[nodiscard]] std::uint32_t waited_at(const std::vector<compile::Kernel>& kernels, std::uint32_t index, bool has_flow, compile::Execution execution);

/// Host and device cost of launching one kernel that takes `time` on the device.
/// eager: host_per_operator for each aten call (backward: host_backward_extra too) and host_per_kernel.
/// compiled: extern calls (products, attention, convolutions) cost host_per_operator, every launch host_per_kernel.
/// cuda_graph: nothing on the host; a node follows the last after device_gap.
[[nodiscard]] RunCost launch_kernel(const compile::Kernel& kernel, Seconds time, compile::Execution execution, const cost::LaunchModel& launch);

/// How a segment is executed: as the model, or eagerly where only the layers are compiled.
[[nodiscard]] compile::Execution execution_of(SegmentRole role, compile::Execution execution, bool compile_layers_only);

/// Prices every segment of `model`, which must outlive the result. Of the stack: compile_layers_only, float8_linear,
/// float8_cast_bytes (the casts stand in their product's time), launch_blocking, tensor_parallel_pipelined (in `tensor_parallel` pieces).
/// `split_backward`: fills input_gradients and weight_gradients too.
[[nodiscard]] std::vector<SegmentLaunches> price_segments(const SegmentedModel& model, compile::Execution execution, const Stack& stack, const TaskCosts& costs,
                                                         bool split_backward = false, std::int64_t tensor_parallel = 1);

/// The segments of a plan's model, as `training` and `costs` have them, before the power limit.
[[nodiscard]] std::vector<SegmentLaunches> price_plan(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const TaskCosts& costs);

/// Device time of a list, communication excluded.
[[nodiscard]] Seconds device_time(const std::vector<Launch>& launches);

}  // namespace sgsim::lower
