#include "sim/cost/make/traces.h"

#include <cstdlib>
#include <optional>

#include "sim/cost/make/robust.h"

namespace sgsim::cost::make {
namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Collects the time of each call by its work, then the median over calls.
template <class Work>
class ByWork {
 public:
  void add(const Work& work, std::int64_t call, double us) { calls_[work][call] += us; }
  [[nodiscard]] std::vector<Traced<Work>> medians() const {
    std::vector<Traced<Work>> result;
    for (const auto& [work, calls] : calls_) {
      std::vector<double> times;
      for (const auto& [call, us] : calls) times.push_back(us);
      result.push_back({.work = work, .us = median(times), .calls = static_cast<int>(times.size())});
    }
    return result;
  }

 private:
  std::map<Work, std::map<std::int64_t, double>> calls_;
};

std::optional<graph::DType> dtype_of(const std::string& type) {
  if (type == "c10::BFloat16") return graph::DType::bfloat16;
  if (type == "c10::Half") return graph::DType::float16;
  if (type == "float") return graph::DType::float32;
  return std::nullopt;
}

std::optional<graph::Matmul> product_of(const TracedKernel& k) {
  const std::size_t first = k.op == "aten::addmm" ? 1 : 0;
  if (k.op != "aten::mm" && k.op != "aten::addmm") return std::nullopt;
  if (k.shapes.size() < first + 2 || k.shapes[first].size() != 2 || k.shapes[first + 1].size() != 2 || k.strides.size() < first + 2) return std::nullopt;
  const auto dtype = dtype_of(k.types[first]);
  if (!dtype || k.strides[first].size() != 2 || k.strides[first + 1].size() != 2) return std::nullopt;
  const auto& a = k.shapes[first];
  const auto& b = k.shapes[first + 1];
  return graph::Matmul{.batch = 1, .m = a[0], .n = b[1], .k = a[1], .a_transposed = k.strides[first][1] != 1, .b_transposed = k.strides[first + 1][1] != 1,
                       .dtype = *dtype, .out_dtype = *dtype, .bias = first == 1};
}

/// Entry `i` of a list constant such as "[2, 2]".
std::int64_t entry(const std::string& list, int i) {
  const char* at = list.c_str();
  while (*at != '\0' && (*at < '0' || *at > '9')) ++at;
  char* end = nullptr;
  std::int64_t value = std::strtoll(at, &end, 10);
  for (; i > 0 && *end != '\0'; --i) value = std::strtoll(end + 1, &end, 10);
  return value;
}

std::optional<graph::Convolution> convolution_of(const TracedKernel& k) {
  const bool backward = k.op == "aten::convolution_backward", forward = k.op == "aten::cudnn_convolution";
  if (!backward && !forward) return std::nullopt;
  const std::size_t input = backward ? 1 : 0, weight = input + 1, stride = backward ? 4 : 3, padding = backward ? 5 : 2;
  if (k.shapes.size() <= weight || k.shapes[input].size() != 4 || k.shapes[weight].size() != 4 || k.constants.size() <= 5) return std::nullopt;
  const auto dtype = dtype_of(k.types[input]);
  if (!dtype) return std::nullopt;
  graph::Convolution c{.batch = k.shapes[input][0], .in_channels = k.shapes[input][1], .out_channels = k.shapes[weight][0], .in_height = k.shapes[input][2],
                       .in_width = k.shapes[input][3], .kernel_height = k.shapes[weight][2], .kernel_width = k.shapes[weight][3],
                       .stride = entry(k.constants[stride], 0), .padding = entry(k.constants[padding], 0), .groups = 1, .dtype = *dtype, .pass = graph::ConvolutionPass::forward};
  if (backward) {
    const bool of_weight = has(k.kernel, "wgrad") || has(k.kernel, "_NTT") || has(k.kernel, "_nt_") || has(k.kernel, "splitKreduce");
    c.pass = of_weight ? graph::ConvolutionPass::weight_gradient : graph::ConvolutionPass::input_gradient;
  }
  return c;
}

std::optional<graph::MemoryKind> kind_of(const std::string& op) {
  if (!op.starts_with("triton_")) return std::nullopt;
  if (has(op, "embedding") || has(op, "index") || has(op, "_sin_") || has(op, "slice_backward") || has(op, "nll_loss_forward") || has(op, "batch_norm")) return std::nullopt;
  if (has(op, "softmax")) return graph::MemoryKind::cross_entropy;
  if (op.starts_with("triton_poi")) return has(op, "transpose") || has(op, "_t_") ? graph::MemoryKind::transpose : graph::MemoryKind::pointwise;
  if (has(op, "norm") || has(op, "rsqrt") || has(op, "pow_sum")) return graph::MemoryKind::norm;
  return graph::MemoryKind::reduction;
}

}  // namespace

std::vector<Traced<graph::Matmul>> traced_products(const std::vector<TracedKernel>& kernels) {
  ByWork<graph::Matmul> found;
  for (const TracedKernel& k : kernels) {
    const bool product_kernel = has(k.kernel, "nvjet") || has(k.kernel, "gemm") || has(k.kernel, "splitKreduce");
    if (const auto work = product_of(k); work && product_kernel) found.add(*work, k.call, k.us);
  }
  return found.medians();
}

std::vector<Traced<graph::Attention>> traced_attention(const std::vector<TracedKernel>& kernels) {
  ByWork<graph::Attention> found;
  for (const TracedKernel& k : kernels) {
    const bool backward = k.op == "aten::_cudnn_attention_backward";
    if ((!backward && k.op != "aten::_cudnn_attention_forward") || k.shapes.size() < 9) continue;
    const std::size_t q = backward ? 1 : 0, mask = backward ? 8 : 3, is_causal = backward ? 14 : 10;
    const auto dtype = dtype_of(k.types[q]);
    if (!dtype || k.shapes[q].size() != 4 || k.shapes[q + 1].size() != 4 || k.constants.size() <= is_causal) continue;
    const bool dense = k.shapes[mask].size() == 4;
    found.add({.batch = k.shapes[q][0], .heads = k.shapes[q][1], .kv_heads = k.shapes[q + 1][1], .q_len = k.shapes[q][2], .kv_len = k.shapes[q + 1][2], .head_dim = k.shapes[q][3],
               .causal = k.constants[is_causal] == "True", .dense_mask = dense, .dtype = *dtype, .pass = backward ? graph::Pass::backward : graph::Pass::forward},
              k.call, k.us);
  }
  return found.medians();
}

std::vector<Traced<graph::Convolution>> traced_convolutions(const std::vector<TracedKernel>& kernels) {
  ByWork<graph::Convolution> found;
  for (const TracedKernel& k : kernels) {
    if (const auto work = convolution_of(k)) found.add(*work, k.call, k.us);
  }
  return found.medians();
}

std::vector<TracedBytes> traced_bytes(const std::vector<TracedKernel>& kernels) {
  std::vector<TracedBytes> result;
  for (const TracedKernel& k : kernels) {
    const auto kind = kind_of(k.op);
    if (kind && has(k.kernel, "triton_")) result.push_back({.kind = *kind, .bytes = argument_bytes(k), .us = k.us});
  }
  return result;
}

}  // namespace sgsim::cost::make
