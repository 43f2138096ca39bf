#include <array>

#include "sim/graph/infer/rules.h"
#include "sim/graph/operators.h"

namespace sgsim::graph::rules {
namespace {

bool channels_last(const TensorType& x) {
  return x.shape.size() == 4 && !x.stride.empty() && x.stride[1] == 1 && x.shape[1] > 1;
}

TensorType laid_out(Dims shape, DType dtype, bool last) {
  if (!last) return contiguous(std::move(shape), dtype);
  const std::int64_t row = wrapping_product(shape[1], shape[3]);
  return strided(shape, dtype, {wrapping_product(row, shape[2]), 1, row, shape[1]});
}

bool any_negative(const Dims& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
}

/// Number of ranks of a functional collective's group: its group-size argument.
std::optional<std::int64_t> group_size(const Arguments& args, std::size_t position) {
  const auto size = args.integer(position);
  if (!size || *size < 1 || *size > (1 << 24)) return std::nullopt;
  return size;
}

}  // namespace

std::optional<Outputs> embedding(const Arguments& args) {
  const TensorType *weight = args.tensor(0), *indices = args.tensor(1);
  if (weight == nullptr || indices == nullptr || weight->shape.size() != 2) return std::nullopt;
  Dims shape = indices->shape;
  shape.push_back(weight->shape[1]);
  return one(std::move(shape), weight->dtype);
}

std::optional<Outputs> embedding_backward(const Arguments& args) {
  const TensorType* grad = args.tensor(0);
  const auto rows = args.integer(2);
  if (grad == nullptr || grad->shape.empty() || !rows || *rows < 0) return std::nullopt;
  return one({*rows, grad->shape.back()}, grad->dtype);
}

std::optional<Outputs> index(const Arguments& args) {  // x[i0, i1, ...]; a missing index keeps its dimension
  const TensorType* x = args.tensor(0);
  const auto indices = args.tensors(1);
  if (x == nullptr || indices.empty() || indices.size() > x->shape.size()) return std::nullopt;
  std::optional<Dims> picked;
  std::size_t first = 0, last = 0;
  bool adjacent = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    if (indices[i]->dtype == DType::bool_) return std::nullopt;  // the size depends on the data
    if (picked && last + 1 != i) adjacent = false;
    if (!picked) first = i;
    last = i;
    picked = picked ? broadcast(*picked, indices[i]->shape) : indices[i]->shape;
    if (!picked) return std::nullopt;
  }
  if (!picked) return std::nullopt;
  Dims shape;
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    const bool indexed = i < indices.size() && indices[i] != nullptr;
    if (i == first && adjacent) shape.insert(shape.end(), picked->begin(), picked->end());
    if (!indexed) shape.push_back(x->shape[i]);
  }
  if (!adjacent) shape.insert(shape.begin(), picked->begin(), picked->end());
  return one(std::move(shape), x->dtype);
}

std::optional<Outputs> gather(const Arguments& args) {
  const TensorType *x = args.tensor(0), *indices = args.tensor(2);
  if (x == nullptr || indices == nullptr) return std::nullopt;
  return one(indices->shape, x->dtype);
}

std::optional<Outputs> index_select(const Arguments& args) {
  const TensorType *x = args.tensor(0), *indices = args.tensor(2);
  if (x == nullptr || indices == nullptr || indices->shape.size() != 1 || !args.integer(1)) return std::nullopt;
  const auto at = dimension(*args.integer(1), x->shape.size());
  if (!at) return std::nullopt;
  Dims shape = x->shape;
  shape[*at] = indices->shape[0];
  return one(std::move(shape), x->dtype);
}

std::optional<Outputs> topk(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const auto k = args.integer(1);
  if (x == nullptr || !k || *k < 0) return std::nullopt;
  const auto at = dimension(args.integer_or(2, -1), x->shape.size());
  if (!at || *k > x->shape[*at]) return std::nullopt;
  Dims shape = x->shape;
  shape[*at] = *k;
  return Outputs{contiguous(shape, x->dtype), contiguous(shape, DType::int64)};
}

std::optional<Outputs> sort(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return Outputs{contiguous(x->shape, x->dtype), contiguous(x->shape, DType::int64)};
}

std::optional<Outputs> one_hot(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const std::int64_t classes = args.integer_or(1, -1);
  if (x == nullptr || classes < 0) return std::nullopt;
  Dims shape = x->shape;
  shape.push_back(classes);
  return one(std::move(shape), DType::int64);
}

std::optional<Outputs> cat(const Arguments& args) {
  const auto parts = args.tensors(0);
  if (parts.empty() || parts[0] == nullptr) return std::nullopt;
  const auto at = dimension(args.integer_or(1, 0), parts[0]->shape.size());
  if (!at) return std::nullopt;
  Dims shape = parts[0]->shape;
  DType dtype = parts[0]->dtype;
  bool last = channels_last(*parts[0]);
  shape[*at] = 0;
  for (const TensorType* part : parts) {
    if (part == nullptr || part->shape.size() != shape.size()) return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == *at) {
        if (__builtin_add_overflow(shape[i], part->shape[i], &shape[i])) return std::nullopt;
      } else if (part->shape[i] != shape[i]) {
        return std::nullopt;
      }
    }
    dtype = promote(dtype, part->dtype);
    last = last && channels_last(*part);
  }
  return Outputs{laid_out(std::move(shape), dtype, last)};
}

std::optional<Outputs> stack(const Arguments& args) {
  const auto parts = args.tensors(0);
  if (parts.empty() || parts[0] == nullptr) return std::nullopt;
  const auto at = dimension(args.integer_or(1, 0), parts[0]->shape.size() + 1);
  if (!at) return std::nullopt;
  for (const TensorType* part : parts) {
    if (part == nullptr || part->shape != parts[0]->shape) return std::nullopt;
  }
  Dims shape = parts[0]->shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*at), static_cast<std::int64_t>(parts.size()));
  return one(std::move(shape), parts[0]->dtype);
}

std::optional<Outputs> pad(const Arguments& args) {  // pairs (before, after) from the last dimension on
  const TensorType* x = args.tensor(0);
  const auto amounts = args.integers(1);
  if (x == nullptr || !amounts || amounts->size() % 2 != 0 || amounts->size() / 2 > x->shape.size()) return std::nullopt;
  Dims shape = x->shape;
  for (std::size_t i = 0; i < amounts->size() / 2; ++i) {
    std::int64_t& size = shape[shape.size() - 1 - i];
    if (__builtin_add_overflow(size, (*amounts)[2 * i], &size)) return std::nullopt;
    if (__builtin_add_overflow(size, (*amounts)[2 * i + 1], &size) || size < 0) return std::nullopt;
  }
  return Outputs{laid_out(std::move(shape), x->dtype, channels_last(*x))};
}

std::optional<Outputs> slice_backward(const Arguments& args) {  // (grad, sizes, ...): zeros of `sizes` with a part filled
  const TensorType* grad = args.tensor(0);
  auto sizes = args.integers(1);
  if (grad == nullptr || !sizes || any_negative(*sizes)) return std::nullopt;
  return one(std::move(*sizes), grad->dtype);
}

std::optional<Outputs> repeat(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  auto times = args.integers(1);
  if (x == nullptr || !times || times->size() < x->shape.size() || any_negative(*times)) return std::nullopt;
  const std::size_t lead = times->size() - x->shape.size();
  for (std::size_t i = 0; i < x->shape.size(); ++i) (*times)[lead + i] = wrapping_product((*times)[lead + i], x->shape[i]);
  return one(std::move(*times), x->dtype);
}

std::optional<Outputs> max_pool(const Arguments& args) {  // (x, kernel, stride, padding, dilation, ceil)
  const TensorType* x = args.tensor(0);
  const auto kernel = args.integers(1, 2);
  auto stride = args.integers(2, 2);
  const auto padding = args.count() > 3 ? args.integers(3, 2) : Dims{0, 0};
  const auto dilation = args.count() > 4 ? args.integers(4, 2) : Dims{1, 1};
  if (x == nullptr || x->shape.size() != 4 || !kernel || !padding || !dilation) return std::nullopt;
  if (!stride || stride->empty()) stride = kernel;
  const bool ceil = args.flag_or(5, false);
  Dims shape = x->shape;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Dims* values : std::array<const Dims*, 4>{&*kernel, &*stride, &*padding, &*dilation}) {
      if (values->size() != 2 || (*values)[i] < 0 || (*values)[i] > (1 << 20)) return std::nullopt;
    }
    const std::int64_t s = (*stride)[i], reach = shape[2 + i] + 2 * (*padding)[i] - (*dilation)[i] * ((*kernel)[i] - 1) - 1;
    if (s < 1 || reach < 0) return std::nullopt;
    shape[2 + i] = (ceil ? (reach + s - 1) / s : reach / s) + 1;
  }
  const bool last = channels_last(*x);
  if (args.node().target.find("with_indices") == std::string::npos) return Outputs{laid_out(shape, x->dtype, last)};
  return Outputs{laid_out(shape, x->dtype, last), laid_out(shape, DType::int64, last)};
}

std::optional<Outputs> max_pool_backward(const Arguments& args) {  // (grad, x, ...)
  const TensorType* x = args.tensor(1);
  if (x == nullptr) return std::nullopt;
  return Outputs{laid_out(x->shape, x->dtype, channels_last(*x))};
}

std::optional<Outputs> adaptive_pool(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const auto sizes = args.integers(1, 2);
  if (x == nullptr || x->shape.size() != 4 || !sizes || sizes->size() != 2 || any_negative(*sizes)) return std::nullopt;
  return Outputs{laid_out({x->shape[0], x->shape[1], (*sizes)[0], (*sizes)[1]}, x->dtype, channels_last(*x))};
}

std::optional<Outputs> arange(const Arguments& args) {  // (end) or (start, end[, step])
  std::int64_t start = 0, step = 1;
  auto end = args.integer(0);
  if (args.count() >= 2) {
    start = args.integer_or(0, 0);
    end = args.integer(1);
    step = args.integer_or(2, 1);
  }
  std::int64_t span = 0;
  if (!end || step < 1 || start < 0 || __builtin_sub_overflow(*end, start, &span) || span < 0) return std::nullopt;
  return one({span == 0 ? 0 : (span - 1) / step + 1}, args.dtype().value_or(DType::int64));
}

std::optional<Outputs> full(const Arguments& args) {
  auto sizes = args.integers(0);
  if (!sizes || any_negative(*sizes)) return std::nullopt;
  DType otherwise = DType::float32;
  if (args.node().target.starts_with("aten.full.")) {  // full takes its type from the fill value
    if (args.integer(1)) otherwise = DType::int64;
    if (!args.integer(1) && !args.is_float(1)) otherwise = DType::bool_;
  }
  return one(std::move(*sizes), args.dtype().value_or(otherwise));
}

std::optional<Outputs> new_full(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  auto sizes = args.integers(1);
  if (x == nullptr || !sizes || any_negative(*sizes)) return std::nullopt;
  return one(std::move(*sizes), args.dtype().value_or(x->dtype));
}

std::optional<Outputs> scalar_tensor(const Arguments& args) { return one({}, args.dtype().value_or(DType::float32)); }

std::optional<Outputs> all_gather(const Arguments& args) {  // (x, group_size, group)
  const TensorType* x = args.tensor(0);
  const auto ranks = group_size(args, 1);
  if (x == nullptr || !ranks || x->shape.empty()) return std::nullopt;
  Dims shape = x->shape;
  shape[0] = wrapping_product(shape[0], *ranks);
  return one(std::move(shape), x->dtype);
}

std::optional<Outputs> reduce_scatter(const Arguments& args) {  // (x, reduce_op, group_size, group)
  const TensorType* x = args.tensor(0);
  const auto ranks = group_size(args, 2);
  if (x == nullptr || !ranks || x->shape.empty() || x->shape[0] % *ranks != 0) return std::nullopt;
  Dims shape = x->shape;
  shape[0] /= *ranks;
  return one(std::move(shape), x->dtype);
}

std::optional<Outputs> all_to_all(const Arguments& args) {  // (x, output_splits, input_splits, group)
  const TensorType* x = args.tensor(0);
  const auto splits = args.integers(1);
  if (x == nullptr || x->shape.empty() || !splits) return std::nullopt;
  Dims shape = x->shape;
  std::int64_t rows = 0;
  for (const std::int64_t split : *splits) {
    if (split < 0 || __builtin_add_overflow(rows, split, &rows)) return std::nullopt;
  }
  if (!splits->empty()) shape[0] = rows;
  return one(std::move(shape), x->dtype);
}

}  // namespace sgsim::graph::rules
