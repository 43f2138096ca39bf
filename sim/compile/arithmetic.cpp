#include "sim/compile/arithmetic.h"

#include <unordered_map>

namespace sgsim::compile {

int operation_count(std::string_view name) {
  static const std::unordered_map<std::string_view, int> kCounts = {
      {"gelu", 10}, {"gelu_backward", 10}, {"silu", 3}, {"tanh_backward", 3}, {"sigmoid_backward", 3}, {"silu_backward", 6},
      {"softplus", 4}, {"softplus_backward", 4}, {"hardswish", 4}, {"hardswish_backward", 4},
      {"cat", 7},  // two operands: positions, masks, selection
      {"slice_backward", 5}, {"constant_pad_nd", 5},
      {"addcmul", 2}, {"addcdiv", 2}, {"lerp", 2}, {"where", 2}, {"threshold_backward", 2}};
  const auto found = kCounts.find(name);
  return found == kCounts.end() ? 1 : found->second;
}

// A softmax whose row stays on chip, an element: largest (1), difference (1), exponential, sum (1), scale (1). The exponential is a
// product and one ex2, which takes 16 flops of the float32 units (Hopper: 128 lanes of 2 flops beside 16 special-function lanes a
// clock and SM; Ampere 8), and two to round.
constexpr double kSoftmaxFlops = 24.0;

double flops_of(std::string_view name) {
  static const std::unordered_map<std::string_view, double> kFlops = {
      {"sin", 114.0}, {"cos", 114.0}, {"tan", 114.0}, {"tanh", 70.0}, {"exp", 35.0}, {"log", 35.0}, {"log1p", 35.0}, {"expm1", 35.0},
      {"erf", 40.0}, {"sigmoid", 40.0}, {"silu", 41.0}, {"silu_backward", 45.0}, {"gelu", 80.0}, {"gelu_backward", 90.0},
      {"softplus", 70.0}, {"softplus_backward", 40.0}, {"rsqrt", 8.0}, {"sqrt", 8.0}, {"reciprocal", 8.0}, {"div", 8.0},
      {"_log_softmax", kOnlineSoftmaxFlops}, {"_softmax", kSoftmaxFlops},
      {"_log_softmax_backward_data", kLogSoftmaxGradientFlops}, {"native_dropout", 40.0},
      {"max_pool2d_with_indices", kMaxPoolFlops}, {"max_pool2d_with_indices_backward", kMaxPoolGradientFlops}};
  const auto found = kFlops.find(name);
  return found == kFlops.end() ? static_cast<double>(operation_count(name)) : found->second;
}

}  // namespace sgsim::compile
