#include "calibrate/device/cuda/sdpa.h"

#include <cmath>
#include <limits>

#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

using Dims = std::vector<std::int64_t>;

cudnnDataType_t type_of(Element element) {
  SGSIM_CHECK(element == Element::bfloat16 || element == Element::float16, "fused attention has 16-bit operands");
  return element == Element::bfloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Shapes and strides of one attention's tensors.
struct Layout {
  SdpaShape s;
  [[nodiscard]] Dims q_dims() const { return {s.batch, s.heads, s.length, s.head_dim}; }
  [[nodiscard]] Dims q_strides() const { return {s.length * s.heads * s.head_dim, s.head_dim, s.heads * s.head_dim, 1}; }
  [[nodiscard]] Dims kv_dims() const { return {s.batch, s.kv_heads, s.length, s.head_dim}; }
  [[nodiscard]] Dims kv_strides() const { return {s.length * s.kv_heads * s.head_dim, s.head_dim, s.kv_heads * s.head_dim, 1}; }
  [[nodiscard]] Dims kv_transposed_dims() const { return {s.batch, s.kv_heads, s.head_dim, s.length}; }
  [[nodiscard]] Dims kv_transposed_strides() const { return {s.length * s.kv_heads * s.head_dim, s.head_dim, 1, s.kv_heads * s.head_dim}; }
  [[nodiscard]] Dims score_dims() const { return {s.batch, s.heads, s.length, s.length}; }
  [[nodiscard]] Dims score_strides() const { return {s.heads * s.length * s.length, s.length * s.length, s.length, 1}; }
  [[nodiscard]] Dims score_transposed_strides() const { return {s.heads * s.length * s.length, s.length * s.length, 1, s.length}; }
  [[nodiscard]] Dims row_dims() const { return {s.batch, s.heads, s.length, 1}; }
  [[nodiscard]] Dims row_strides() const { return {s.heads * s.length, s.length, 1, 1}; }
  [[nodiscard]] Dims head_strides() const { return {s.heads * s.length * s.head_dim, s.length * s.head_dim, s.head_dim, 1}; }
};

/// Adds the causal mask: scores where the column is past the row become -infinity.
DnnTensor add_causal(DnnGraph& g, const Layout& l, const DnnTensor& scores, const DnnTensor& minus_infinity) {
  const DnnTensor row = g.inner(l.score_dims(), l.score_strides(), CUDNN_DATA_INT32), column = g.inner(l.score_dims(), l.score_strides(), CUDNN_DATA_INT32);
  const DnnTensor keep = g.inner(l.score_dims(), l.score_strides(), CUDNN_DATA_BOOLEAN), masked = g.inner(l.score_dims(), l.score_strides());
  g.index_along(2, scores, row);
  g.index_along(3, scores, column);
  g.pointwise(CUDNN_POINTWISE_CMP_GE, row, keep, column);
  g.pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, masked, minus_infinity, keep);
  return masked;
}

DnnTensor add_mask(DnnGraph& g, const Layout& l, const DnnTensor& scores, const DnnTensor& mask) {
  const DnnTensor sum = g.inner(l.score_dims(), l.score_strides());
  g.pointwise(CUDNN_POINTWISE_ADD, scores, sum, mask);
  return sum;
}

struct ForwardGraph {
  DnnGraph g;
  Layout l;
  DnnTensor scale, q, k, v, stats, out, minus_infinity;
  std::optional<DnnTensor> mask;

  explicit ForwardGraph(const SdpaShape& shape) : l{shape} {
    const cudnnDataType_t type = type_of(shape.element);
    scale = g.scalar();
    minus_infinity = g.scalar();
    q = g.tensor(l.q_dims(), l.q_strides(), type);
    k = g.tensor(l.kv_transposed_dims(), l.kv_transposed_strides(), type);
    v = g.tensor(l.kv_dims(), l.kv_strides(), type);
    stats = g.tensor(l.row_dims(), l.row_strides(), CUDNN_DATA_FLOAT);
    out = g.tensor(l.q_dims(), l.q_strides(), type);
    if (shape.dense_mask) mask = g.tensor({1, 1, shape.length, shape.length}, {shape.length * shape.length, shape.length * shape.length, shape.length, 1}, type);
    const auto score = [&] { return g.inner(l.score_dims(), l.score_strides()); };
    const auto row = [&] { return g.inner(l.row_dims(), l.row_strides()); };
    const DnnTensor products = score(), scaled = score();
    g.matmul(q, k, products);
    g.pointwise(CUDNN_POINTWISE_MUL, products, scaled, scale);
    DnnTensor s = scaled;
    if (mask) s = add_mask(g, l, s, *mask);
    if (shape.causal) s = add_causal(g, l, s, minus_infinity);
    const DnnTensor largest = row(), shifted = score(), exponential = score(), sum = row(), log = row(), p = g.inner(l.score_dims(), l.score_strides(), type);
    g.reduce(CUDNN_REDUCE_TENSOR_MAX, s, largest);
    g.pointwise(CUDNN_POINTWISE_SUB, s, shifted, largest);
    g.pointwise(CUDNN_POINTWISE_EXP, shifted, exponential);
    g.reduce(CUDNN_REDUCE_TENSOR_ADD, exponential, sum);
    g.pointwise(CUDNN_POINTWISE_LOG, sum, log);
    g.pointwise(CUDNN_POINTWISE_ADD, largest, stats, log);
    g.pointwise(CUDNN_POINTWISE_DIV, exponential, p, sum);
    g.matmul(p, v, out);
  }
};

struct BackwardGraph {
  DnnGraph g;
  Layout l;
  DnnTensor scale, keep_all, stats, d_out, out, v, k, q, dv, dk, dq, softmax_sum, dq_sum, minus_infinity;
  std::optional<DnnTensor> mask;

  explicit BackwardGraph(const SdpaShape& shape) : l{shape} {
    const cudnnDataType_t type = type_of(shape.element);
    scale = g.scalar();
    keep_all = g.scalar();
    minus_infinity = g.scalar();
    stats = g.tensor(l.row_dims(), l.row_strides(), CUDNN_DATA_FLOAT);
    d_out = g.tensor(l.q_dims(), l.q_strides(), type);
    out = g.tensor(l.q_dims(), l.q_strides(), type);
    v = g.tensor(l.kv_transposed_dims(), l.kv_transposed_strides(), type);
    k = g.tensor(l.kv_transposed_dims(), l.kv_transposed_strides(), type);
    q = g.tensor(l.q_dims(), l.q_strides(), type);
    dv = g.tensor(l.kv_dims(), l.kv_strides(), type);
    dk = g.tensor(l.kv_dims(), l.kv_strides(), type);
    dq = g.tensor(l.q_dims(), l.q_strides(), type);
    softmax_sum = g.tensor(l.row_dims(), l.row_strides(), CUDNN_DATA_FLOAT);
    dq_sum = g.tensor(l.q_dims(), l.head_strides(), CUDNN_DATA_FLOAT);
    if (shape.dense_mask) mask = g.tensor({1, 1, shape.length, shape.length}, {shape.length * shape.length, shape.length * shape.length, shape.length, 1}, type);
    build(shape, type);
  }

  void build(const SdpaShape& shape, cudnnDataType_t type) {
    const auto score = [&] { return g.inner(l.score_dims(), l.score_strides()); };
    const DnnTensor d_out_out = g.inner(l.q_dims(), l.head_strides()), row_sum = g.inner(l.row_dims(), l.row_strides());
    g.pointwise(CUDNN_POINTWISE_MUL, d_out, d_out_out, out);
    g.reduce(CUDNN_REDUCE_TENSOR_ADD, d_out_out, row_sum);
    g.pointwise(CUDNN_POINTWISE_MUL, row_sum, softmax_sum, keep_all);
    // P again: exp(scale q k^T - stats)
    const DnnTensor products = score(), scaled = score(), shifted = score(), p = score();
    g.matmul(q, k, products);
    g.pointwise(CUDNN_POINTWISE_MUL, products, scaled, scale);
    DnnTensor s = scaled;
    if (mask) s = add_mask(g, l, s, *mask);
    g.pointwise(CUDNN_POINTWISE_SUB, s, shifted, stats);
    const DnnTensor kept = shape.causal ? add_causal(g, l, shifted, minus_infinity) : shifted;
    g.pointwise(CUDNN_POINTWISE_EXP, kept, p);
    // dV = P^T dO
    const DnnTensor p_transposed = g.inner(l.score_dims(), l.score_transposed_strides(), type);
    g.reshape(p, p_transposed);
    sum_over_group(shape, type, p_transposed, d_out, dv);
    // dS = P * (dO V^T - softmax_sum) * scale
    const DnnTensor dp = score(), dp_shifted = score(), ds = score(), ds_scaled = score();
    g.matmul(d_out, v, dp);
    g.pointwise(CUDNN_POINTWISE_SUB, dp, dp_shifted, softmax_sum);
    g.pointwise(CUDNN_POINTWISE_MUL, dp_shifted, ds, p);
    g.pointwise(CUDNN_POINTWISE_MUL, ds, ds_scaled, scale);
    // dK = dS^T Q
    const DnnTensor ds_transposed = g.inner(l.score_dims(), l.score_transposed_strides(), type);
    g.reshape(ds_scaled, ds_transposed);
    sum_over_group(shape, type, ds_transposed, q, dk);
    // dQ = dS K, summed in float32 and then rounded
    const DnnTensor k_rows = g.inner(l.kv_dims(), l.kv_strides());
    g.reshape(k, k_rows);
    g.matmul(ds_scaled, k_rows, dq_sum);
    g.pointwise(CUDNN_POINTWISE_IDENTITY, dq_sum, dq);
  }

  /// gradient = left * right, summed over the query heads that share a key-value head.
  void sum_over_group(const SdpaShape& shape, cudnnDataType_t type, const DnnTensor& left, const DnnTensor& right, const DnnTensor& gradient) {
    if (shape.heads == shape.kv_heads) return g.matmul(left, right, gradient);
    const DnnTensor each = g.inner(l.q_dims(), l.head_strides(), type);
    g.matmul(left, right, each);
    g.reduce(CUDNN_REDUCE_TENSOR_ADD, each, gradient);
  }
};

class Forward final : public Sdpa {
 public:
  Forward(const Dnn& dnn, const SdpaShape& shape) : graph_(shape), plan_(graph_.g.plan(dnn)), scale_(sdpa_scale(shape)) {}
  [[nodiscard]] std::size_t scratch_bytes() const override { return plan_->workspace_bytes(); }
  void run(const Dnn& dnn, const SdpaMemory& m, void* scratch, cudaStream_t stream) const override {
    std::map<std::int64_t, void*> memory{{graph_.scale.uid, &scale_}, {graph_.q.uid, m.q},     {graph_.k.uid, m.k},
                                         {graph_.v.uid, m.v},         {graph_.out.uid, m.out}, {graph_.stats.uid, m.stats}};
    if (graph_.l.s.causal) memory[graph_.minus_infinity.uid] = &minus_infinity_;
    if (graph_.mask) memory[graph_.mask->uid] = m.mask;
    plan_->run(dnn, memory, scratch, stream);
  }

 private:
  ForwardGraph graph_;
  std::unique_ptr<DnnPlan> plan_;
  mutable float scale_;
  mutable float minus_infinity_ = -std::numeric_limits<float>::infinity();
};

class Backward final : public Sdpa {
 public:
  Backward(const Dnn& dnn, const SdpaShape& shape) : graph_(shape), plan_(graph_.g.plan(dnn)), scale_(sdpa_scale(shape)) {}
  [[nodiscard]] std::size_t scratch_bytes() const override { return dq_sum_bytes() + padded(graph_.l.s.rows() * sizeof(float)) + plan_->workspace_bytes(); }
  void run(const Dnn& dnn, const SdpaMemory& m, void* scratch, cudaStream_t stream) const override {
    char* dq_sum = static_cast<char*>(scratch);
    char* softmax_sum = dq_sum + dq_sum_bytes();
    char* workspace = softmax_sum + padded(graph_.l.s.rows() * sizeof(float));
    check_cuda(cudaMemsetAsync(dq_sum, 0, dq_sum_bytes(), stream), "clear the query gradient");  // the kernel adds to it
    std::map<std::int64_t, void*> memory{{graph_.scale.uid, &scale_}, {graph_.keep_all.uid, &keep_all_}, {graph_.stats.uid, m.stats},
                                         {graph_.d_out.uid, m.d_out}, {graph_.out.uid, m.out},           {graph_.q.uid, m.q},
                                         {graph_.k.uid, m.k},         {graph_.v.uid, m.v},               {graph_.dq.uid, m.dq},
                                         {graph_.dk.uid, m.dk},       {graph_.dv.uid, m.dv},             {graph_.softmax_sum.uid, softmax_sum},
                                         {graph_.dq_sum.uid, dq_sum}};
    if (graph_.l.s.causal) memory[graph_.minus_infinity.uid] = &minus_infinity_;
    if (graph_.mask) memory[graph_.mask->uid] = m.mask;
    plan_->run(dnn, memory, workspace, stream);
  }

 private:
  [[nodiscard]] std::size_t dq_sum_bytes() const { return padded(graph_.l.s.q_elements() * sizeof(float)); }
  BackwardGraph graph_;
  std::unique_ptr<DnnPlan> plan_;
  mutable float scale_;
  mutable float keep_all_ = 1.0F;  // no dropout
  mutable float minus_infinity_ = -std::numeric_limits<float>::infinity();
};

}  // namespace

float sdpa_scale(const SdpaShape& shape) { return 1.0F / std::sqrt(static_cast<float>(shape.head_dim)); }

std::unique_ptr<Sdpa> make_sdpa_forward(const Dnn& dnn, const SdpaShape& shape) { return std::make_unique<Forward>(dnn, shape); }
std::unique_ptr<Sdpa> make_sdpa_backward(const Dnn& dnn, const SdpaShape& shape) { return std::make_unique<Backward>(dnn, shape); }

std::string recommended_sdpa_engine(const Dnn& dnn, const SdpaShape& shape, bool backward) {
  if (backward) return BackwardGraph(shape).g.recommended(dnn);
  return ForwardGraph(shape).g.recommended(dnn);
}

}  // namespace sgsim::calibrate
