#include "sim/graph/node_work.h"

#include "sim/graph/arguments.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::graph {
namespace {

using std::string_view;

/// Stored with the rows of the last two dimensions along memory's slow direction exchanged (column-major).
bool transposed(const TensorType& x) {
  if (x.stride.empty() || x.shape.size() < 2) return false;
  const std::size_t last = x.shape.size() - 1;
  return x.stride[last] != 1 && x.stride[last - 1] == 1;
}

std::int64_t leading(const TensorType& x) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < x.shape.size(); ++i) count = wrapping_product(count, x.shape[i]);
  return count;
}

Matmul product_of(const TensorType& a, const TensorType& b, const TensorType& out) {
  const std::size_t ra = a.shape.size(), rb = b.shape.size();
  return {.batch = std::max(leading(a), leading(b)),
          .m = a.shape[ra - 2],
          .n = b.shape[rb - 1],
          .k = a.shape[ra - 1],
          .a_transposed = transposed(a),
          .b_transposed = transposed(b),
          .dtype = a.dtype,
          .out_dtype = out.dtype,
          .bias = false};
}

/// x W^T over the last dimension of x: one product with all leading dimensions as rows.
Matmul linear_of(const TensorType& x, const TensorType& weight, const TensorType& out, bool bias) {
  const std::int64_t k = x.shape.back();
  return {.batch = 1,
          .m = k == 0 ? 0 : x.elements() / k,
          .n = weight.shape[0],
          .k = k,
          .a_transposed = false,
          .b_transposed = !transposed(weight),
          .dtype = x.dtype,
          .out_dtype = out.dtype,
          .bias = bias};
}

/// Positions of the attention operators' arguments (ATen native_functions.yaml); -1: has none.
struct AttentionSchema {
  string_view name;
  Pass pass;
  int query, mask, causal;
};
constexpr AttentionSchema kAttention[] = {
    {"aten._scaled_dot_product_cudnn_attention.", Pass::forward, 0, 3, 6},
    {"aten._scaled_dot_product_flash_attention.", Pass::forward, 0, -1, 4},
    {"aten._scaled_dot_product_efficient_attention.", Pass::forward, 0, 3, 6},
    {"aten._scaled_dot_product_flash_attention_for_cpu.", Pass::forward, 0, -1, 4},
    {"aten._scaled_dot_product_cudnn_attention_backward.", Pass::backward, 1, 8, 14},
    {"aten._scaled_dot_product_flash_attention_backward.", Pass::backward, 1, -1, 11},
    {"aten._scaled_dot_product_efficient_attention_backward.", Pass::backward, 1, 4, 11},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.", Pass::backward, 1, -1, 7},
};

bool matrix(const TensorType* x) { return x != nullptr && x->shape.size() >= 2; }

bool asks(const std::vector<bool>& mask, std::size_t i) { return i < mask.size() && mask[i]; }

std::optional<Convolution> convolution_shape(const Arguments& args, std::size_t x_at, std::size_t stride_at) {
  const TensorType *x = args.tensor(x_at), *w = args.tensor(x_at + 1);
  if (x == nullptr || w == nullptr || x->shape.size() != 4 || w->shape.size() != 4) return std::nullopt;
  const auto stride = args.integers(stride_at, 2), padding = args.integers(stride_at + 1, 2);
  if (!stride || !padding || stride->empty() || padding->empty() || (*stride)[0] < 1) return std::nullopt;
  const std::int64_t groups = args.integer_or(stride_at + 5, 1);
  if (groups < 1) return std::nullopt;
  return Convolution{.batch = x->shape[0],
                     .in_channels = x->shape[1],
                     .out_channels = w->shape[0],
                     .in_height = x->shape[2],
                     .in_width = x->shape[3],
                     .kernel_height = w->shape[2],
                     .kernel_width = w->shape[3],
                     .stride = (*stride)[0],
                     .padding = (*padding)[0],
                     .groups = groups,
                     .dtype = x->dtype,
                     .pass = ConvolutionPass::forward};
}

}  // namespace

std::optional<Matmul> matmul_of(const OperatorGraph& graph, const Node& node) {
  if (node.kind != NodeKind::call || classify(node.target) != OperatorClass::matmul || node.outputs.empty()) return std::nullopt;
  const Arguments args(graph, node);
  const TensorType& out = node.outputs[0];
  const string_view target = node.target;
  const bool biased = target.starts_with("aten.addmm.") || target.starts_with("aten.baddbmm.");
  const TensorType *a = args.tensor(biased ? 1 : 0), *b = args.tensor(biased ? 2 : 1);
  if (target.starts_with("aten.linear.")) {
    if (a == nullptr || a->shape.empty() || !matrix(b)) return std::nullopt;
    return linear_of(*a, *b, out, args.tensor(2) != nullptr);
  }
  if (!matrix(a) || !matrix(b)) return std::nullopt;
  if (target.starts_with("aten.matmul.") && b->shape.size() == 2) {  // the weight is shared by all leading dimensions
    Matmul product = product_of(*a, *b, out);
    product.m = product.k == 0 ? 0 : a->elements() / product.k;
    product.batch = 1;
    return product;
  }
  Matmul product = product_of(*a, *b, out);
  product.bias = biased;
  return product;
}

std::optional<Attention> attention_of(const OperatorGraph& graph, const Node& node) {
  if (node.kind != NodeKind::call || classify(node.target) != OperatorClass::attention) return std::nullopt;
  const Arguments args(graph, node);
  for (const AttentionSchema& schema : kAttention) {
    if (!string_view(node.target).starts_with(schema.name)) continue;
    const auto at = static_cast<std::size_t>(schema.query);
    const TensorType *q = args.tensor(at), *k = args.tensor(at + 1);
    if (q == nullptr || k == nullptr || q->shape.size() != 4 || k->shape.size() != 4) return std::nullopt;
    const bool mask = (schema.mask >= 0 && args.tensor(static_cast<std::size_t>(schema.mask)) != nullptr) ||
                      args.keyword_tensor("attn_mask") != nullptr;
    const bool causal = args.flag_or(static_cast<std::size_t>(schema.causal), args.keyword_flag("is_causal", false));
    return Attention{.batch = q->shape[0],
                     .heads = q->shape[1],
                     .kv_heads = k->shape[1],
                     .q_len = q->shape[2],
                     .kv_len = k->shape[2],
                     .head_dim = q->shape[3],
                     .causal = causal,
                     .dense_mask = mask,
                     .dtype = q->dtype,
                     .pass = schema.pass};
  }
  return std::nullopt;
}

std::vector<Convolution> convolutions_of(const OperatorGraph& graph, const Node& node) {
  std::vector<Convolution> found;
  if (node.kind != NodeKind::call || classify(node.target) != OperatorClass::convolution) return found;
  const Arguments args(graph, node);
  if (string_view(node.target).starts_with("aten.convolution.")) {
    if (const auto forward = convolution_shape(args, 0, 3)) found.push_back(*forward);
    return found;
  }
  const auto shape = convolution_shape(args, 1, 4);
  if (!shape) return found;
  const std::vector<bool> mask = args.flags(10);
  for (const auto& [position, pass] : {std::pair{0U, ConvolutionPass::input_gradient}, {1U, ConvolutionPass::weight_gradient}}) {
    if (!asks(mask, position)) continue;
    found.push_back(*shape);
    found.back().pass = pass;
  }
  return found;
}

namespace {

template <class Kind, class Find>
std::vector<NodeWork<Kind>> collect(const OperatorGraph& graph, Find&& find) {
  std::vector<NodeWork<Kind>> found;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Kind& work : find(graph, graph.nodes[i])) {
      found.push_back({.node = NodeId{i}, .phase = graph.nodes[i].phase, .work = work});
    }
  }
  return found;
}

template <class Kind>
std::vector<Kind> as_list(const std::optional<Kind>& one) {
  return one ? std::vector<Kind>{*one} : std::vector<Kind>{};
}

}  // namespace

std::vector<NodeWork<Matmul>> matmuls_of(const OperatorGraph& graph) {
  return collect<Matmul>(graph, [](const auto& g, const Node& node) { return as_list(matmul_of(g, node)); });
}

std::vector<NodeWork<Attention>> attentions_of(const OperatorGraph& graph) {
  return collect<Attention>(graph, [](const auto& g, const Node& node) { return as_list(attention_of(g, node)); });
}

std::vector<NodeWork<Convolution>> convolutions_of(const OperatorGraph& graph) {
  return collect<Convolution>(graph, [](const auto& g, const Node& node) { return convolutions_of(g, node); });
}

}  // namespace sgsim::graph
