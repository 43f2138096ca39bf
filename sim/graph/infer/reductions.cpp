#include <array>

#include "sim/graph/infer/rules.h"
#include "sim/graph/operators.h"

namespace sgsim::graph::rules {
namespace {

TensorType dense_as(const TensorType& x, DType dtype) {
  const std::array<const TensorType*, 1> operand = {&x};
  return dense_like(operand, x.shape, dtype);
}

bool is_integral(DType dtype) { return !is_floating(dtype); }

/// The shape left when dimensions (argument 1; none or an empty list means all) are reduced; argument 2 keeps them as 1.
std::optional<Dims> reduced(const Arguments& args, const TensorType& x) {
  std::vector<bool> gone(x.shape.size(), true);
  if (args.is_list(1) || args.integer(1)) {
    const auto dims = args.integers(1);
    if (!dims) return std::nullopt;
    if (!dims->empty()) gone.assign(x.shape.size(), false);
    for (const std::int64_t index : *dims) {
      const auto at = dimension(index, x.shape.size());
      if (!at) return std::nullopt;
      gone[*at] = true;
    }
  }
  const bool keep = args.flag_or(2, args.keyword_flag("keepdim", false));
  Dims shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!gone[i]) shape.push_back(x.shape[i]);
    if (gone[i] && keep) shape.push_back(1);
  }
  return shape;
}

std::optional<Outputs> reduced_as(const Arguments& args, DType dtype) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  auto shape = reduced(args, *x);
  if (!shape) return std::nullopt;
  return one(std::move(*shape), dtype);
}

/// Statistics of a layer norm over the last `normalized` dimensions.
std::optional<Dims> statistics_shape(const TensorType& x, std::size_t normalized) {
  if (normalized > x.shape.size()) return std::nullopt;
  Dims shape = x.shape;
  std::fill(shape.end() - static_cast<std::ptrdiff_t>(normalized), shape.end(), 1);
  return shape;
}

}  // namespace

std::optional<Outputs> sum(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return reduced_as(args, args.dtype().value_or(is_integral(x->dtype) ? DType::int64 : x->dtype));
}

std::optional<Outputs> mean(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  return x == nullptr ? std::nullopt : reduced_as(args, args.dtype().value_or(x->dtype));
}

std::optional<Outputs> extremum(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const std::string_view target = args.node().target;
  const bool logical = target.starts_with("aten.any") || target.starts_with("aten.all");
  return x == nullptr ? std::nullopt : reduced_as(args, logical ? DType::bool_ : x->dtype);
}

std::optional<Outputs> var_mean(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  auto result = reduced_as(args, x->dtype);
  if (result) result->push_back(result->front());
  return result;
}

std::optional<Outputs> scan(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return Outputs{dense_as(*x, args.dtype().value_or(is_integral(x->dtype) ? DType::int64 : x->dtype))};
}

std::optional<Outputs> softmax(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return one(x->shape, args.flag_or(2, false) ? DType::float32 : x->dtype);
}

std::optional<Outputs> softmax_backward(const Arguments& args) {
  const TensorType* grad = args.tensor(0);
  if (grad == nullptr) return std::nullopt;
  const auto input = args.text(3);
  return one(grad->shape, input ? dtype_from_text(*input).value_or(grad->dtype) : grad->dtype);
}

std::optional<Outputs> layer_norm(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const auto normalized = args.integers(1);
  if (x == nullptr || !normalized) return std::nullopt;
  const auto statistics = statistics_shape(*x, normalized->size());
  if (!statistics) return std::nullopt;
  return Outputs{contiguous(x->shape, x->dtype), contiguous(*statistics, DType::float32), contiguous(*statistics, DType::float32)};
}

std::optional<Outputs> layer_norm_backward(const Arguments& args) {
  const TensorType *x = args.tensor(1), *weight = args.tensor(5), *bias = args.tensor(6);
  const std::vector<bool> mask = args.flags(7);
  if (x == nullptr || mask.size() != 3) return std::nullopt;
  return Outputs{mask[0] ? contiguous(x->shape, x->dtype) : absent(),
                 mask[1] && weight != nullptr ? contiguous(weight->shape, weight->dtype) : absent(),
                 mask[2] && bias != nullptr ? contiguous(bias->shape, bias->dtype) : absent()};
}

std::optional<Outputs> rms_norm(const Arguments& args) {  // _fused_rms_norm(x, shape, weight, eps)
  const TensorType* x = args.tensor(0);
  const auto normalized = args.integers(1);
  if (x == nullptr || !normalized) return std::nullopt;
  const auto statistics = statistics_shape(*x, normalized->size());
  if (!statistics) return std::nullopt;
  return Outputs{contiguous(x->shape, x->dtype), contiguous(*statistics, DType::float32)};
}

std::optional<Outputs> rms_norm_backward(const Arguments& args) {  // (grad, x, shape, rstd, weight, mask)
  const TensorType *x = args.tensor(1), *weight = args.tensor(4);
  if (x == nullptr) return std::nullopt;
  return Outputs{contiguous(x->shape, x->dtype),
                 weight != nullptr ? contiguous(weight->shape, weight->dtype) : absent()};
}

std::optional<Outputs> batch_norm(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr || x->shape.size() < 2) return std::nullopt;
  const TensorType statistics = contiguous({x->shape[1]}, DType::float32);
  return Outputs{dense_as(*x, x->dtype), statistics, statistics};
}

std::optional<Outputs> batch_norm_functional(const Arguments& args) {  // also returns the new running statistics
  auto outputs = batch_norm(args);
  if (!outputs) return std::nullopt;
  outputs->push_back((*outputs)[1]);
  outputs->push_back((*outputs)[2]);
  return outputs;
}

std::optional<Outputs> batch_norm_backward(const Arguments& args) {
  const TensorType *x = args.tensor(1), *weight = args.tensor(2);
  const std::vector<bool> mask = args.flags(9);
  if (x == nullptr || mask.size() != 3 || x->shape.size() < 2) return std::nullopt;
  const TensorType channel = contiguous({x->shape[1]}, weight != nullptr ? weight->dtype : DType::float32);
  return Outputs{mask[0] ? dense_as(*x, x->dtype) : absent(), mask[1] ? channel : absent(), mask[2] ? channel : absent()};
}

std::optional<Outputs> nll_loss(const Arguments& args) {  // (x, target, weight, reduction 0 none 1 mean 2 sum, ignore_index)
  const TensorType *x = args.tensor(0), *target = args.tensor(1);
  if (x == nullptr || target == nullptr) return std::nullopt;
  const bool each = args.integer_or(3, 1) == 0;
  return Outputs{contiguous(each ? target->shape : Dims{}, x->dtype), contiguous({}, x->dtype)};
}

std::optional<Outputs> nll_loss_backward(const Arguments& args) {
  const TensorType* x = args.tensor(1);
  if (x == nullptr) return std::nullopt;
  return one(x->shape, x->dtype);
}

}  // namespace sgsim::graph::rules
