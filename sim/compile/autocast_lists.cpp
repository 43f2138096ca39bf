#include "sim/compile/autocast_lists.h"

#include <unordered_set>

#include "sim/compile/operator_effects.h"

namespace sgsim::compile {

AutocastRule autocast_rule(std::string_view target) {
  static const std::unordered_set<std::string_view> kLower = {
      "mm", "addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "mv", "addmv", "addr", "chain_matmul", "prelu",
      "convolution", "convolution_backward", "_grouped_mm",
      "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
      "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_flash_attention_backward",
      "_scaled_dot_product_efficient_attention_backward"};
  static const std::unordered_set<std::string_view> kFloat32 = {
      "pow", "prod", "acos", "asin", "cosh", "sinh", "tan", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2",
      "reciprocal", "rsqrt", "cumsum", "cumprod", "sum", "renorm", "softplus", "linalg_vector_norm", "norm", "dist",
      "_softmax", "_log_softmax", "nll_loss_forward", "nll_loss2d_forward", "mse_loss", "l1_loss", "smooth_l1_loss",
      "binary_cross_entropy_with_logits", "native_layer_norm", "native_group_norm", "_fused_rms_norm"};
  const std::string_view name = base_name(target);
  if (kLower.contains(name)) return AutocastRule::lower;
  if (kFloat32.contains(name)) return AutocastRule::float32;
  return AutocastRule::none;
}

}  // namespace sgsim::compile
