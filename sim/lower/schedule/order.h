#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.h"

namespace sgsim::lower {

/// Which gradients a backward pass computes: zero-bubble schedules compute the parameters' in a pass of their own.
enum class Gradients : std::uint8_t { all, inputs, weights };

/// One pass over one micro-batch.
struct PassStep {
  bool forward = true;
  int virtual_stage = 0;       // which of the stage's chunks
  int micro_batch = 0;
  Gradients gradients = Gradients::all;  // backward passes
  bool operator==(const PassStep&) const = default;
};

/// The passes of pipeline stage `stage` (0-based) in the order in which it runs them.
/// gpipe: all forward, then all backward passes, micro-batches ascending (Huang et al. 2019; PyTorch ScheduleGPipe).
/// 1F1B: PipeDream-Flush; pp - stage - 1 forward passes ahead (Narayanan et al. 2021, section 2.2).
/// interleaved: virtual_stages chunks a stage, micro-batches in groups of pp; 2 (pp - stage - 1) + (virtual_stages - 1) pp
/// forward passes ahead (the same paper, section 2.2, and Megatron-LM's schedule).
/// zero_bubble: ZB-H1 (Qi et al. 2023, section 2.1): as 1F1B with the input gradients only; stage s runs the weight gradients of
/// micro-batch i after the input gradients of i + s, so that every stage has at most pp micro-batches in flight.
[[nodiscard]] std::vector<PassStep> pass_order(plan::Schedule schedule, int pp, int virtual_stages, int micro_batches, int stage);

}  // namespace sgsim::lower
