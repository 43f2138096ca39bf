#pragma once

#include <string_view>

namespace sgsim::compile {

/// Operations an element as Inductor counts them when it decides whether a value is too much to compute again (its
/// realize_opcount_threshold); 1 for most operators. What composite operators become: torch/_inductor/decomposition.py, lowering.py.
[[nodiscard]] int operation_count(std::string_view name);

/// Flops an element that an operator costs on the vector units, in multiply-adds' halves: what its time would be worth at
/// the vector peak. 1 for plain arithmetic. Transcendental functions (libdevice code, float32) were measured: H200, PyTorch
/// 2.11, kernels of llama_1b and llama_70b_l1 that recompute sines and cosines (6 kernels, 107 to 121 a function), of
/// gpt2_350m with tanh (62 and 75); validation data set, shared/truth/h200.
[[nodiscard]] double flops_of(std::string_view name);

/// Flops an element of a softmax's running maximum and sum of exponentials, from the same profiles (4 kernels, 86 to 98).
inline constexpr double kOnlineSoftmaxFlops = 90.0;
/// Flops an element of log_softmax's gradient, which recomputes one exponential; the kernels (4, 82 to 95 in all) also hold
/// about 16 of the loss's gradient, the recomputed log_softmax and casts.
inline constexpr double kLogSoftmaxGradientFlops = 70.0;

/// Flops an element of batch norm's statistics (Welford, over all but the channels) and of each of its gradient's two sums, and of max pooling
/// with windows of 3 x 3 every 2: an element of the result, and of its gradient, which looks into the four windows that hold it. Inductor's kernels
/// on an H200, channels last, bfloat16: 0.62 to 0.84, 1.55 to 1.67, 7.3 and 7.4 ps an element at the vector peak
/// (docs/records/h200-pytorch-2026-11-30/types.json, images).
inline constexpr double kBatchStatisticsFlops = 48.0;
inline constexpr double kBatchGradientFlops = 54.0;
inline constexpr double kMaxPoolFlops = 490.0;
inline constexpr double kMaxPoolGradientFlops = 495.0;

}  // namespace sgsim::compile
