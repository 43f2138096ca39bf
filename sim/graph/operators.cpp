#include "sim/graph/operators.h"

#include <array>
#include <string>
#include <unordered_map>

#include "sim/graph/infer/rules.h"

namespace sgsim::graph {
namespace {

using enum OperatorClass;

struct Entry {
  std::string_view name;  // without "aten."; with overload only where overloads differ
  OperatorClass kind;
  rules::Rule rule;
};

// What ATen operators are and how their shapes follow (PyTorch, native_functions.yaml). One line an operator.
constexpr std::array kOperators = {
    Entry{"alias", view, rules::same_view},
    Entry{"detach", view, rules::same_view},
    Entry{"lift_fresh", view, rules::same_view},
    Entry{"t", view, rules::transpose_last},
    Entry{"numpy_T", view, nullptr},
    Entry{"transpose", view, rules::transpose},
    Entry{"permute", view, rules::permute},
    Entry{"view", view, rules::view},
    Entry{"view.dtype", view, nullptr},
    Entry{"_unsafe_view", view, rules::view},
    Entry{"reshape", view, rules::view},
    Entry{"_reshape_alias", view, rules::view},
    Entry{"expand", view, rules::expand},
    Entry{"unsqueeze", view, rules::unsqueeze},
    Entry{"squeeze", view, rules::squeeze},
    Entry{"slice", view, rules::slice},
    Entry{"select", view, rules::select},
    Entry{"split", view, rules::split},
    Entry{"split_with_sizes", view, rules::split},
    Entry{"unbind", view, rules::unbind},
    Entry{"as_strided", view, rules::as_strided},

    Entry{"add", pointwise, rules::pointwise},
    Entry{"sub", pointwise, rules::pointwise},
    Entry{"rsub", pointwise, rules::pointwise},
    Entry{"mul", pointwise, rules::pointwise},
    Entry{"div", pointwise, rules::pointwise_floating},
    Entry{"pow", pointwise, rules::pointwise},
    Entry{"neg", pointwise, rules::pointwise},
    Entry{"abs", pointwise, rules::pointwise},
    Entry{"sign", pointwise, rules::pointwise},
    Entry{"square", pointwise, rules::pointwise},
    Entry{"maximum", pointwise, rules::pointwise},
    Entry{"minimum", pointwise, rules::pointwise},
    Entry{"clamp", pointwise, rules::pointwise},
    Entry{"clamp_min", pointwise, rules::pointwise},
    Entry{"relu", pointwise, rules::pointwise},
    Entry{"remainder", pointwise, rules::pointwise},
    Entry{"floor_divide", pointwise, rules::pointwise},
    Entry{"addcmul", pointwise, rules::pointwise},
    Entry{"addcdiv", pointwise, rules::pointwise},
    Entry{"lerp", pointwise, rules::pointwise},
    Entry{"masked_fill", pointwise, rules::gradient_of_first},
    Entry{"triu", pointwise, rules::like_first},
    Entry{"tril", pointwise, rules::like_first},
    Entry{"bitwise_and", pointwise, rules::pointwise},
    Entry{"bitwise_or", pointwise, rules::pointwise},
    Entry{"bitwise_xor", pointwise, rules::pointwise},
    Entry{"bitwise_not", pointwise, rules::pointwise},
    Entry{"reciprocal", pointwise, rules::pointwise_floating},
    Entry{"sqrt", pointwise, rules::pointwise_floating},
    Entry{"rsqrt", pointwise, rules::pointwise_floating},
    Entry{"exp", pointwise, rules::pointwise_floating},
    Entry{"log", pointwise, rules::pointwise_floating},
    Entry{"log1p", pointwise, rules::pointwise_floating},
    Entry{"sin", pointwise, rules::pointwise_floating},
    Entry{"cos", pointwise, rules::pointwise_floating},
    Entry{"tanh", pointwise, rules::pointwise_floating},
    Entry{"erf", pointwise, rules::pointwise_floating},
    Entry{"sigmoid", pointwise, rules::pointwise_floating},
    Entry{"silu", pointwise, rules::pointwise_floating},
    Entry{"gelu", pointwise, rules::pointwise_floating},
    Entry{"softplus", pointwise, rules::pointwise_floating},
    Entry{"hardswish", pointwise, rules::pointwise_floating},
    Entry{"leaky_relu", pointwise, rules::pointwise_floating},
    Entry{"tanh_backward", pointwise, rules::gradient_of_first},
    Entry{"sigmoid_backward", pointwise, rules::gradient_of_first},
    Entry{"silu_backward", pointwise, rules::gradient_of_first},
    Entry{"gelu_backward", pointwise, rules::gradient_of_first},
    Entry{"softplus_backward", pointwise, rules::gradient_of_first},
    Entry{"hardswish_backward", pointwise, rules::gradient_of_first},
    Entry{"leaky_relu_backward", pointwise, rules::gradient_of_first},
    Entry{"threshold_backward", pointwise, rules::gradient_of_second},
    Entry{"native_dropout_backward", pointwise, rules::gradient_of_first},
    Entry{"eq", pointwise, rules::comparison},
    Entry{"ne", pointwise, rules::comparison},
    Entry{"lt", pointwise, rules::comparison},
    Entry{"le", pointwise, rules::comparison},
    Entry{"gt", pointwise, rules::comparison},
    Entry{"ge", pointwise, rules::comparison},
    Entry{"logical_and", pointwise, rules::comparison},
    Entry{"logical_or", pointwise, rules::comparison},
    Entry{"logical_not", pointwise, rules::comparison},
    Entry{"isnan", pointwise, rules::comparison},
    Entry{"isinf", pointwise, rules::comparison},
    Entry{"where", pointwise, rules::where},

    Entry{"clone", copy, rules::cast},
    Entry{"_to_copy", copy, rules::cast},
    Entry{"contiguous", copy, rules::cast},
    Entry{"copy", copy, rules::same_view},
    Entry{"prims.convert_element_type", copy, nullptr},

    Entry{"sum", reduction, rules::sum},
    Entry{"mean", reduction, rules::mean},
    Entry{"prod", reduction, rules::sum},
    Entry{"amax", reduction, rules::extremum},
    Entry{"amin", reduction, rules::extremum},
    Entry{"any", reduction, rules::extremum},
    Entry{"all", reduction, rules::extremum},
    Entry{"var_mean", reduction, rules::var_mean},
    Entry{"cumsum", reduction, rules::scan},
    Entry{"argmax", reduction, nullptr},
    Entry{"linalg_vector_norm", reduction, nullptr},

    Entry{"mm", matmul, rules::mm},
    Entry{"addmm", matmul, rules::addmm},
    Entry{"bmm", matmul, rules::bmm},
    Entry{"baddbmm", matmul, rules::baddbmm},
    Entry{"linear", matmul, rules::linear},
    Entry{"matmul", matmul, rules::matmul},

    Entry{"_scaled_dot_product_cudnn_attention", attention, rules::attention_cudnn},
    Entry{"_scaled_dot_product_flash_attention", attention, rules::attention_flash},
    Entry{"_scaled_dot_product_efficient_attention", attention, rules::attention_efficient},
    Entry{"_scaled_dot_product_flash_attention_for_cpu", attention, rules::attention_cpu},
    Entry{"_scaled_dot_product_cudnn_attention_backward", attention, rules::attention_backward},
    Entry{"_scaled_dot_product_flash_attention_backward", attention, rules::attention_backward},
    Entry{"_scaled_dot_product_flash_attention_for_cpu_backward", attention, rules::attention_backward},
    Entry{"_scaled_dot_product_efficient_attention_backward", attention, rules::attention_efficient_backward},

    Entry{"convolution", OperatorClass::convolution, rules::convolution},
    Entry{"convolution_backward", OperatorClass::convolution, rules::convolution_backward},

    Entry{"native_layer_norm", norm, rules::layer_norm},
    Entry{"native_layer_norm_backward", norm, rules::layer_norm_backward},
    Entry{"_fused_rms_norm", norm, rules::rms_norm},
    Entry{"_fused_rms_norm_backward", norm, rules::rms_norm_backward},
    Entry{"native_batch_norm", norm, rules::batch_norm},
    Entry{"_native_batch_norm_legit", norm, rules::batch_norm},
    Entry{"_native_batch_norm_legit_functional", norm, rules::batch_norm_functional},
    Entry{"_batch_norm_with_update_functional", norm, nullptr},
    Entry{"batch_norm_backward", norm, nullptr},
    Entry{"native_batch_norm_backward", norm, rules::batch_norm_backward},
    Entry{"native_group_norm", norm, nullptr},
    Entry{"native_group_norm_backward", norm, nullptr},

    Entry{"_softmax", softmax, rules::softmax},
    Entry{"_log_softmax", softmax, rules::softmax},
    Entry{"_softmax_backward_data", softmax, rules::softmax_backward},
    Entry{"_log_softmax_backward_data", softmax, rules::softmax_backward},
    Entry{"logsumexp", softmax, rules::extremum},

    Entry{"nll_loss_forward", loss, rules::nll_loss},
    Entry{"nll_loss_backward", loss, rules::nll_loss_backward},
    Entry{"nll_loss2d_forward", loss, rules::nll_loss},
    Entry{"nll_loss2d_backward", loss, rules::nll_loss_backward},

    Entry{"embedding", OperatorClass::embedding, rules::embedding},
    Entry{"embedding_dense_backward", OperatorClass::embedding, rules::embedding_backward},

    Entry{"native_dropout", random, rules::dropout},
    Entry{"bernoulli", random, rules::like_first},
    Entry{"rand", random, rules::full},
    Entry{"randn", random, rules::full},
    Entry{"rand_like", random, rules::empty_like},
    Entry{"randn_like", random, rules::empty_like},

    Entry{"index", OperatorClass::index, rules::index},
    Entry{"_unsafe_index", OperatorClass::index, rules::index},
    Entry{"index_put", OperatorClass::index, rules::like_first},
    Entry{"_unsafe_index_put", OperatorClass::index, rules::like_first},
    Entry{"index_add", OperatorClass::index, rules::like_first},
    Entry{"index_select", OperatorClass::index, rules::index_select},
    Entry{"gather", OperatorClass::index, rules::gather},
    Entry{"scatter", OperatorClass::index, rules::like_first},
    Entry{"scatter_add", OperatorClass::index, rules::like_first},
    Entry{"topk", OperatorClass::index, rules::topk},
    Entry{"sort", OperatorClass::index, rules::sort},
    Entry{"one_hot", OperatorClass::index, rules::one_hot},
    Entry{"nonzero", OperatorClass::index, nullptr},
    Entry{"cat", OperatorClass::index, rules::cat},
    Entry{"stack", OperatorClass::index, rules::stack},
    Entry{"constant_pad_nd", OperatorClass::index, rules::pad},
    Entry{"slice_backward", OperatorClass::index, rules::slice_backward},
    Entry{"select_backward", OperatorClass::index, rules::slice_backward},
    Entry{"slice_scatter", OperatorClass::index, rules::like_first},
    Entry{"select_scatter", OperatorClass::index, rules::like_first},
    Entry{"as_strided_scatter", OperatorClass::index, rules::like_first},
    Entry{"repeat", OperatorClass::index, rules::repeat},
    Entry{"roll", OperatorClass::index, rules::like_first},
    Entry{"flip", OperatorClass::index, rules::like_first},

    Entry{"max_pool2d_with_indices", pool, rules::max_pool},
    Entry{"max_pool2d_with_indices_backward", pool, rules::max_pool_backward},
    Entry{"avg_pool2d", pool, rules::max_pool},
    Entry{"avg_pool2d_backward", pool, rules::max_pool_backward},
    Entry{"_adaptive_avg_pool2d", pool, rules::adaptive_pool},
    Entry{"_adaptive_avg_pool2d_backward", pool, rules::max_pool_backward},

    Entry{"arange", factory, rules::arange},
    Entry{"full", factory, rules::full},
    Entry{"zeros", factory, rules::full},
    Entry{"ones", factory, rules::full},
    Entry{"empty", factory, rules::full},
    Entry{"new_zeros", factory, rules::new_full},
    Entry{"new_ones", factory, rules::new_full},
    Entry{"new_full", factory, rules::new_full},
    Entry{"new_empty", factory, rules::new_full},
    Entry{"zeros_like", factory, rules::empty_like},
    Entry{"ones_like", factory, rules::empty_like},
    Entry{"full_like", factory, rules::empty_like},
    Entry{"empty_like", factory, rules::empty_like},
    Entry{"scalar_tensor", factory, rules::scalar_tensor},

    Entry{"_c10d_functional.all_reduce", collective, rules::like_first},
    Entry{"_c10d_functional.all_gather_into_tensor", collective, rules::all_gather},
    Entry{"_c10d_functional.reduce_scatter_tensor", collective, rules::reduce_scatter},
    Entry{"_c10d_functional.all_to_all_single", collective, rules::all_to_all},
    Entry{"_c10d_functional.broadcast", collective, rules::like_first},
    Entry{"_c10d_functional.permute_tensor", collective, rules::like_first},
    Entry{"_c10d_functional.wait_tensor", view, rules::same_view},
};

using Table = std::unordered_map<std::string_view, const Entry*>;

const Table& table() {
  static const Table built = [] {
    Table t;
    for (const Entry& entry : kOperators) t.emplace(entry.name, &entry);
    return t;
  }();
  return built;
}

/// "aten.add_.Tensor" is looked up as "add.Tensor", then "add"; in-place variants as their functional ones.
const Entry* find(std::string_view target) {
  const Table& t = table();
  const bool aten = target.starts_with("aten.");
  if (aten) target.remove_prefix(5);
  if (const auto found = t.find(target); found != t.end()) return found->second;
  const std::size_t dot = target.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return nullptr;
  std::string_view packet = target.substr(0, dot);
  if (const auto found = t.find(packet); found != t.end()) return found->second;
  if (!aten || !packet.ends_with('_')) return nullptr;
  packet.remove_suffix(1);
  const auto found = t.find(packet);
  return found != t.end() ? found->second : nullptr;
}

constexpr std::array<std::string_view, 17> kClassNames = {
    "view",  "pointwise", "reduction", "matmul", "attention", "convolution", "norm",    "softmax", "loss",
    "embedding", "random", "copy",     "index",  "pool",      "collective",  "factory", "unknown"};

}  // namespace

OperatorClass classify(std::string_view target) {
  const Entry* entry = find(target);
  return entry != nullptr ? entry->kind : unknown;
}

std::string_view to_text(OperatorClass operator_class) { return kClassNames[static_cast<std::size_t>(operator_class)]; }

std::optional<std::vector<TensorType>> infer(const OperatorGraph& graph, const Node& node) {
  const Entry* entry = find(node.target);
  if (entry == nullptr || entry->rule == nullptr) return std::nullopt;
  return entry->rule(Arguments(graph, node));
}

std::optional<CollectiveOp> collective_of(std::string_view target) {
  if (classify(target) != collective) return std::nullopt;
  if (target.find(".all_reduce") != std::string_view::npos) return CollectiveOp::all_reduce;
  if (target.find(".all_gather") != std::string_view::npos) return CollectiveOp::all_gather;
  if (target.find(".reduce_scatter") != std::string_view::npos) return CollectiveOp::reduce_scatter;
  if (target.find(".all_to_all") != std::string_view::npos) return CollectiveOp::all_to_all;
  if (target.find(".permute_tensor") != std::string_view::npos) return CollectiveOp::send_receive;  // each rank to the next
  return CollectiveOp::broadcast;
}

}  // namespace sgsim::graph
