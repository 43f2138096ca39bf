#include <array>

#include "sim/graph/infer/rules.h"
#include "sim/graph/operators.h"

namespace sgsim::graph {
namespace {

enum class Category : std::uint8_t { boolean, integer, floating, complex };

Category category_of(DType dtype) {
  if (dtype == DType::bool_) return Category::boolean;
  if (dtype == DType::complex64 || dtype == DType::complex128) return Category::complex;
  return is_floating(dtype) ? Category::floating : Category::integer;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Category ca = category_of(a), cb = category_of(b);
  if (ca != cb) return ca > cb ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return ca == Category::floating ? DType::float32 : DType::int64;  // bfloat16 with float16
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims shape = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (shape[lead + i] == shorter[i] || shorter[i] == 1) continue;
    if (shape[lead + i] != 1) return std::nullopt;
    shape[lead + i] = shorter[i];
  }
  return shape;
}

namespace rules {
namespace {

/// torch.result_type: tensors with dimensions decide; a zero-dimensional tensor or a scalar counts only when its category
/// (bool < integer < floating) is higher.
DType result_type(const Arguments& args, std::span<const TensorType* const> operands) {
  std::optional<DType> dimensioned, zero_dimensional;
  for (const TensorType* operand : operands) {
    auto& slot = operand->shape.empty() ? zero_dimensional : dimensioned;
    slot = slot ? promote(*slot, operand->dtype) : operand->dtype;
  }
  DType result = dimensioned.value_or(zero_dimensional.value_or(DType::float32));
  if (dimensioned && zero_dimensional && category_of(*zero_dimensional) > category_of(result)) result = *zero_dimensional;
  for (std::size_t i = 0; i < args.count(); ++i) {
    if (args.is_float(i) && category_of(result) < Category::floating) result = DType::float32;
    if (args.integer(i) && category_of(result) == Category::boolean) result = DType::int64;
  }
  return result;
}

std::optional<Dims> broadcast_all(std::span<const TensorType* const> operands) {
  if (operands.empty()) return std::nullopt;
  std::optional<Dims> shape = operands[0]->shape;
  for (const TensorType* operand : operands.subspan(1)) {
    shape = broadcast(*shape, operand->shape);
    if (!shape) return std::nullopt;
  }
  return shape;
}

/// Strides of an operand seen in the broadcast shape; 0 where it is broadcast.
Dims broadcast_strides(const TensorType& operand, const Dims& shape) {
  const std::size_t lead = shape.size() - operand.shape.size();
  const Dims own = strides_of(operand);
  Dims stride(shape.size(), 0);
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    stride[lead + i] = operand.shape[i] == shape[lead + i] || operand.shape[i] != 1 ? own[i] : 0;
  }
  return stride;
}

std::optional<Outputs> pointwise_as(const Arguments& args, std::span<const TensorType* const> operands, DType dtype) {
  auto shape = broadcast_all(operands);
  if (!shape) return std::nullopt;
  (void)args;
  Outputs outputs;
  outputs.push_back(dense_like(operands, *shape, dtype));
  return outputs;
}

}  // namespace

TensorType dense_like(std::span<const TensorType* const> operands, const Dims& shape, DType dtype) {
  bool row_major = true;
  for (const TensorType* operand : operands) row_major = row_major && operand->stride.empty();
  if (row_major) return contiguous(shape, dtype);
  std::vector<Dims> strides;
  for (const TensorType* operand : operands) strides.push_back(broadcast_strides(*operand, shape));
  // > 0: dimension a must lie outside b; < 0: inside; 0: no operand tells.
  const auto outside = [&](std::size_t a, std::size_t b) {
    for (const Dims& stride : strides) {
      if (stride[a] == 0 || stride[b] == 0) continue;
      if (stride[a] != stride[b]) return stride[a] > stride[b] ? 1 : -1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  std::vector<std::size_t> order;  // innermost first
  for (std::size_t i = shape.size(); i-- > 0;) order.push_back(i);
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int comparison = outside(order[j], order[moving]);
      if (comparison > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Dims stride(shape.size(), 1);
  std::int64_t next = 1;
  for (const std::size_t at : order) {
    stride[at] = next;
    next = wrapping_product(next, std::max<std::int64_t>(shape[at], 1));
  }
  return strided(shape, dtype, std::move(stride));
}

std::optional<Outputs> pointwise(const Arguments& args) {
  const auto operands = args.all_tensors();
  return pointwise_as(args, operands, result_type(args, operands));
}

std::optional<Outputs> pointwise_floating(const Arguments& args) {
  const auto operands = args.all_tensors();
  const DType dtype = result_type(args, operands);
  return pointwise_as(args, operands, category_of(dtype) < Category::floating ? DType::float32 : dtype);
}

std::optional<Outputs> comparison(const Arguments& args) {
  const auto operands = args.all_tensors();
  return pointwise_as(args, operands, DType::bool_);
}

std::optional<Outputs> where(const Arguments& args) {
  const TensorType* condition = args.tensor(0);
  const TensorType* a = args.tensor(1);
  const TensorType* b = args.tensor(2);
  if (condition == nullptr || a == nullptr || b == nullptr) return std::nullopt;
  const std::array<const TensorType*, 2> values = {a, b};
  const std::array<const TensorType*, 3> all = {condition, a, b};
  return pointwise_as(args, all, result_type(args, values));
}

std::optional<Outputs> gradient_of_first(const Arguments& args) {
  const TensorType* grad = args.tensor(0);
  if (grad == nullptr) return std::nullopt;
  const auto operands = args.all_tensors();
  return pointwise_as(args, operands, grad->dtype);
}

std::optional<Outputs> gradient_of_second(const Arguments& args) {
  const TensorType* grad = args.tensor(0);
  const TensorType* self = args.tensor(1);
  if (grad == nullptr || self == nullptr) return std::nullopt;
  const std::array<const TensorType*, 2> operands = {self, grad};
  return pointwise_as(args, operands, promote(grad->dtype, self->dtype));
}

std::optional<Outputs> cast(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const DType dtype = args.dtype().value_or(x->dtype);
  if (const Argument* format = args.keyword("memory_format")) {
    const auto* text = std::get_if<std::string>(&format->value);
    if (text != nullptr && *text == "torch.contiguous_format") return one(x->shape, dtype);
  }
  const std::array<const TensorType*, 1> operand = {x};
  return Outputs{dense_like(operand, x->shape, dtype)};
}

std::optional<Outputs> like_first(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return one(x->shape, x->dtype);
}

std::optional<Outputs> dropout(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const std::array<const TensorType*, 1> operand = {x};
  return Outputs{dense_like(operand, x->shape, x->dtype), dense_like(operand, x->shape, DType::bool_)};
}

std::optional<Outputs> empty_like(const Arguments& args) { return cast(args); }

}  // namespace rules
}  // namespace sgsim::graph
