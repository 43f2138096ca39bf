#pragma once

#include "sim/cost/profile.h"
#include "sim/lower/lower.h"
#include "sim/lower/program/task_costs.h"
#include "sim/lower/stack.h"

namespace sgsim::lower {

/// How much longer a fused attention kernel of generation `generation` takes than one of `of_profile` (1 where either is 0).
/// Generation 1 over 2: 1.4 forward, 2.0 backward (FlashAttention-2, arXiv 2307.08691, section 4.1: 1.3 to 1.5 and about 2
/// against the Triton kernels). 2 over 3: PyTorch's FlashAttention 2 over cuDNN on an H200, medians over 512 to 32,768 tokens with and
/// without mask (docs/records/h200-pytorch-2026-11-30, attention_backends): forward 1.58 at head size 64 and 1.89 at 128 (1.50 to
/// 1.76, 1.76 to 2.11), backward 1.66 and 1.90 (1.56 to 1.71, 1.73 to 1.99).
[[nodiscard]] double attention_slowdown(int generation, int of_profile, const graph::Attention& work);

/// Costs as a software stack has them: Stack::attention_generation against the profile's factor "attention.generation" (none:
/// 3 on GPUs with 8-bit matrix units, else 2), Stack::product_time and Stack::host_time.
[[nodiscard]] TaskCosts with_stack(TaskCosts costs, const cost::Profile& profile, const Stack& stack);

/// Matrix products of float32 without TF32: at least as long as the datasheet's float32 vector rate takes. No profile has
/// measured them, so that they count as analytic. Convolutions keep TF32, which PyTorch allows them by default
/// (torch.backends.cudnn.allow_tf32). `diagnostics` must outlive the result.
[[nodiscard]] TaskCosts with_full_float32(TaskCosts costs, const cost::Profile& profile, Diagnostics& diagnostics);

/// What lower() asks: the profile's costs as the training settings and their software stack change them. `diagnostics` must
/// outlive the result.
[[nodiscard]] TaskCosts training_costs(const cost::Profile& profile, const Training& training, Diagnostics& diagnostics);

/// DTensor's dispatch, where the stack shards through it: what a plan adds to training_costs() as TaskCosts::wrapper.
[[nodiscard]] std::optional<TensorWrapper> tensor_wrapper(const cost::Profile& profile, const plan::Plan& plan, const Training& training);

/// Both.
[[nodiscard]] TaskCosts request_costs(const Request& request, Diagnostics& diagnostics);

}  // namespace sgsim::lower
