#include <array>

#include "sim/graph/infer/rules.h"
#include "sim/graph/operators.h"

namespace sgsim::graph::rules {
namespace {

TensorType dense_as(const TensorType& x) {
  const std::array<const TensorType*, 1> operand = {&x};
  return dense_like(operand, x.shape, x.dtype);
}

/// Query, key and value of an attention call in [batch, heads, length, size].
struct Heads {
  const TensorType *q, *k, *v;
};

std::optional<Heads> heads_at(const Arguments& args, std::size_t first) {
  const Heads h{args.tensor(first), args.tensor(first + 1), args.tensor(first + 2)};
  for (const TensorType* x : {h.q, h.k, h.v}) {
    if (x == nullptr || x->shape.size() != 4) return std::nullopt;
  }
  const Dims &q = h.q->shape, &k = h.k->shape, &v = h.v->shape;
  if (q[0] != k[0] || k[0] != v[0] || q[3] != k[3] || k[2] != v[2] || k[1] != v[1]) return std::nullopt;
  if (k[1] == 0 || q[1] % k[1] != 0) return std::nullopt;
  return h;
}

Dims output_shape(const Heads& h) {
  Dims shape = h.q->shape;
  shape[3] = h.v->shape[3];
  return shape;
}

/// [batch, heads, length, size] that lies as [batch, length, heads, size] in memory.
TensorType length_major(const Dims& shape, DType dtype) {
  const std::int64_t row = wrapping_product(shape[1], shape[3]);
  return strided(shape, dtype, {wrapping_product(row, shape[2]), shape[3], row, 1});
}

std::int64_t convolved(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  if (stride < 1) return -1;
  const std::int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1;
  return reach < 0 ? -1 : reach / stride + 1;
}

bool channels_last(const TensorType& x) {
  if (x.shape.size() != 4 || x.stride.empty()) return false;
  const Dims stride = strides_of(x);
  return stride[1] == 1 && x.shape[1] > 1;
}

TensorType laid_out(Dims shape, DType dtype, bool last) {
  if (!last) return contiguous(std::move(shape), dtype);
  const std::int64_t row = wrapping_product(shape[1], shape[3]);
  return strided(shape, dtype, {wrapping_product(row, shape[2]), 1, row, shape[1]});
}

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;  // keeps the arithmetic below from overflowing

bool sane(const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) {
    if (value < 0 || value > kLargestExtent) return false;
  }
  return true;
}

}  // namespace

std::optional<Outputs> mm(const Arguments& args) {
  const TensorType *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr || a->shape.size() != 2 || b->shape.size() != 2 || a->shape[1] != b->shape[0] ||
      a->dtype != b->dtype) {
    return std::nullopt;
  }
  return one({a->shape[0], b->shape[1]}, args.dtype("out_dtype").value_or(a->dtype));
}

std::optional<Outputs> addmm(const Arguments& args) {
  const TensorType *bias = args.tensor(0), *a = args.tensor(1), *b = args.tensor(2);
  if (bias == nullptr || a == nullptr || b == nullptr || a->shape.size() != 2 || b->shape.size() != 2 ||
      a->shape[1] != b->shape[0] || a->dtype != b->dtype) {
    return std::nullopt;
  }
  const Dims shape = {a->shape[0], b->shape[1]};
  if (broadcast(bias->shape, shape) != shape) return std::nullopt;
  return one(shape, a->dtype);
}

std::optional<Outputs> bmm(const Arguments& args) {
  const TensorType *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr || a->shape.size() != 3 || b->shape.size() != 3 || a->shape[0] != b->shape[0] ||
      a->shape[2] != b->shape[1] || a->dtype != b->dtype) {
    return std::nullopt;
  }
  return one({a->shape[0], a->shape[1], b->shape[2]}, a->dtype);
}

std::optional<Outputs> baddbmm(const Arguments& args) {
  const TensorType *bias = args.tensor(0), *a = args.tensor(1), *b = args.tensor(2);
  if (bias == nullptr || a == nullptr || b == nullptr || a->shape.size() != 3 || b->shape.size() != 3 ||
      a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1]) {
    return std::nullopt;
  }
  const Dims shape = {a->shape[0], a->shape[1], b->shape[2]};
  if (broadcast(bias->shape, shape) != shape) return std::nullopt;
  return one(shape, a->dtype);
}

std::optional<Outputs> linear(const Arguments& args) {
  const TensorType *x = args.tensor(0), *weight = args.tensor(1);
  if (x == nullptr || weight == nullptr || x->shape.empty() || weight->shape.size() != 2 ||
      x->shape.back() != weight->shape[1] || x->dtype != weight->dtype) {
    return std::nullopt;
  }
  Dims shape = x->shape;
  shape.back() = weight->shape[0];
  return one(std::move(shape), x->dtype);
}

std::optional<Outputs> matmul(const Arguments& args) {
  const TensorType *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr || a->shape.size() < 2 || b->shape.size() < 2 || a->dtype != b->dtype) return std::nullopt;
  const std::size_t ra = a->shape.size(), rb = b->shape.size();
  if (a->shape[ra - 1] != b->shape[rb - 2]) return std::nullopt;
  auto shape = broadcast(Dims(a->shape.begin(), a->shape.end() - 2), Dims(b->shape.begin(), b->shape.end() - 2));
  if (!shape) return std::nullopt;
  shape->push_back(a->shape[ra - 2]);
  shape->push_back(b->shape[rb - 1]);
  return one(std::move(*shape), a->dtype);
}

// Results of the attention operators: ATen native_functions.yaml; what is no tensor (integers, unused) is absent.
std::optional<Outputs> attention_cudnn(const Arguments& args) {
  const auto h = heads_at(args, 0);
  if (!h) return std::nullopt;
  const Dims& q = h->q->shape;
  const std::array<const TensorType*, 1> query = {h->q};
  return Outputs{dense_like(query, output_shape(*h), h->q->dtype), contiguous({q[0], q[1], q[2], 1}, DType::float32),
                 absent(), absent(), absent(), absent(), contiguous({}, DType::int64), contiguous({}, DType::int64), absent()};
}

std::optional<Outputs> attention_flash(const Arguments& args) {
  const auto h = heads_at(args, 0);
  if (!h) return std::nullopt;
  const Dims& q = h->q->shape;
  return Outputs{length_major(output_shape(*h), h->q->dtype), contiguous({q[0], q[1], q[2]}, DType::float32),
                 absent(), absent(), absent(), absent(), contiguous({2}, DType::uint64), contiguous({}, DType::uint64),
                 contiguous({0}, h->q->dtype)};
}

std::optional<Outputs> attention_efficient(const Arguments& args) {
  const auto h = heads_at(args, 0);
  if (!h) return std::nullopt;
  const Dims& q = h->q->shape;
  const bool statistics = args.flag_or(4, false);
  const std::int64_t rows = statistics ? (q[2] + 31) / 32 * 32 : 0;  // the kernel pads the statistics to 32 rows
  return Outputs{length_major(output_shape(*h), h->q->dtype), contiguous({q[0], q[1], rows}, DType::float32),
                 contiguous({}, DType::int64), contiguous({}, DType::int64)};
}

std::optional<Outputs> attention_cpu(const Arguments& args) {
  const auto h = heads_at(args, 0);
  if (!h) return std::nullopt;
  const Dims& q = h->q->shape;
  return Outputs{length_major(output_shape(*h), h->q->dtype),
                 strided({q[0], q[1], q[2]}, DType::float32, {wrapping_product(q[2], q[1]), 1, q[1]})};
}

std::optional<Outputs> attention_backward(const Arguments& args) {
  const auto h = heads_at(args, 1);
  if (!h) return std::nullopt;
  return Outputs{dense_as(*h->q), dense_as(*h->k), dense_as(*h->v)};
}

std::optional<Outputs> attention_efficient_backward(const Arguments& args) {
  auto outputs = attention_backward(args);
  if (!outputs) return std::nullopt;
  const std::vector<bool> mask = args.flags(10);
  const TensorType* bias = args.tensor(4);
  const bool bias_gradient = mask.size() == 4 && mask[3] && bias != nullptr;
  outputs->push_back(bias_gradient ? contiguous(bias->shape, bias->dtype) : absent());
  return outputs;
}

std::optional<Outputs> convolution(const Arguments& args) {
  const TensorType *x = args.tensor(0), *w = args.tensor(1);
  if (x == nullptr || w == nullptr || x->shape.size() < 3 || w->shape.size() != x->shape.size()) return std::nullopt;
  const std::size_t spatial = x->shape.size() - 2;
  const auto stride = args.integers(3, spatial), padding = args.integers(4, spatial), dilation = args.integers(5, spatial);
  const std::int64_t groups = args.integer_or(8, 1);
  if (!stride || !padding || !dilation || stride->size() != spatial || padding->size() != spatial || dilation->size() != spatial ||
      args.flag_or(6, false) || groups < 1 || w->shape[1] > kLargestExtent || groups > kLargestExtent ||
      x->shape[1] != wrapping_product(w->shape[1], groups)) {
    return std::nullopt;  // transposed convolutions are unknown to us
  }
  if (!sane(x->shape) || !sane(w->shape) || !sane(*stride) || !sane(*padding)) return std::nullopt;
  Dims shape = {x->shape[0], w->shape[0]};
  for (std::size_t i = 0; i < spatial; ++i) {
    if ((*dilation)[i] < 1 || (*dilation)[i] > 1 << 20 || w->shape[2 + i] > 1 << 20) return std::nullopt;
    const std::int64_t size = convolved(x->shape[2 + i], w->shape[2 + i], (*stride)[i], (*padding)[i], (*dilation)[i]);
    if (size < 0) return std::nullopt;
    shape.push_back(size);
  }
  return Outputs{laid_out(std::move(shape), x->dtype, channels_last(*x) || channels_last(*w))};
}

std::optional<Outputs> convolution_backward(const Arguments& args) {
  const TensorType *grad = args.tensor(0), *x = args.tensor(1), *w = args.tensor(2);
  const std::vector<bool> mask = args.flags(10);
  if (grad == nullptr || x == nullptr || w == nullptr || mask.size() != 3 || grad->shape.size() < 2) return std::nullopt;
  return Outputs{mask[0] ? dense_as(*x) : absent(), mask[1] ? dense_as(*w) : absent(),
                 mask[2] ? contiguous({grad->shape[1]}, grad->dtype) : absent()};
}

}  // namespace sgsim::graph::rules
