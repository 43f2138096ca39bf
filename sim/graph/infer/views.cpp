#include <limits>
#include <numeric>

#include "sim/graph/infer/rules.h"

namespace sgsim::graph::rules {
namespace {

Outputs strided_one(Dims shape, DType dtype, Dims stride) {
  Outputs outputs;
  outputs.push_back(strided(std::move(shape), dtype, std::move(stride)));
  return outputs;
}

std::optional<Outputs> permuted(const TensorType& type, const std::vector<std::size_t>& order) {
  const Dims stride = strides_of(type);
  Dims new_shape, new_stride;
  for (const std::size_t from : order) {
    new_shape.push_back(type.shape[from]);
    new_stride.push_back(stride[from]);
  }
  return strided_one(std::move(new_shape), type.dtype, std::move(new_stride));
}

/// Fills in the one -1 of a view's sizes; nothing when the elements do not fit.
std::optional<Dims> resolved_sizes(const TensorType& type, Dims sizes) {
  std::int64_t known = 1, unknown_at = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown_at >= 0) return std::nullopt;
      unknown_at = static_cast<std::int64_t>(i);
    } else {
      if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) return std::nullopt;
    }
  }
  if (unknown_at >= 0) {
    if (known == 0 || type.elements() % known != 0) return std::nullopt;
    sizes[static_cast<std::size_t>(unknown_at)] = type.elements() / known;
    return sizes;
  }
  if (known != type.elements()) return std::nullopt;
  return sizes;
}

}  // namespace

Outputs one(Dims shape, DType dtype) {
  Outputs outputs;
  outputs.push_back(contiguous(std::move(shape), dtype));
  return outputs;
}

std::optional<std::size_t> dimension(std::int64_t index, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (index < 0) index += signed_rank;
  if (index < 0 || index >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::optional<Outputs> same_view(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return Outputs{*x};
}

std::optional<Outputs> transpose_last(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr || x->shape.size() > 2) return std::nullopt;
  if (x->shape.size() < 2) return Outputs{*x};
  return permuted(*x, {1, 0});
}

std::optional<Outputs> transpose(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr || !args.integer(1) || !args.integer(2)) return std::nullopt;
  const auto a = dimension(*args.integer(1), x->shape.size());
  const auto b = dimension(*args.integer(2), x->shape.size());
  if (!a || !b) return std::nullopt;
  std::vector<std::size_t> order(x->shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order[*a], order[*b]);
  return permuted(*x, order);
}

std::optional<Outputs> permute(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const auto dims = args.integers(1);
  if (x == nullptr || !dims || dims->size() != x->shape.size()) return std::nullopt;
  std::vector<std::size_t> order;
  std::vector<bool> seen(x->shape.size(), false);
  for (const std::int64_t index : *dims) {
    const auto at = dimension(index, x->shape.size());
    if (!at || seen[*at]) return std::nullopt;
    seen[*at] = true;
    order.push_back(*at);
  }
  return permuted(*x, order);
}

std::optional<Outputs> view(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  const auto asked = args.integers(1);
  if (x == nullptr || !asked) return std::nullopt;
  auto sizes = resolved_sizes(*x, *asked);
  if (!sizes) return std::nullopt;
  if (x->stride.empty()) return one(std::move(*sizes), x->dtype);
  auto stride = view_strides(*x, *sizes);
  if (!stride) return one(std::move(*sizes), x->dtype);  // reshape: a copy, hence row-major
  return strided_one(std::move(*sizes), x->dtype, std::move(*stride));
}

std::optional<Outputs> expand(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  auto sizes = args.integers(1);
  if (x == nullptr || !sizes || sizes->size() < x->shape.size()) return std::nullopt;
  const Dims old_stride = strides_of(*x);
  const std::size_t lead = sizes->size() - x->shape.size();
  Dims stride(sizes->size(), 0);
  for (std::size_t i = lead; i < sizes->size(); ++i) {
    const std::int64_t old_size = x->shape[i - lead];
    if ((*sizes)[i] == -1) (*sizes)[i] = old_size;
    if ((*sizes)[i] != old_size && old_size != 1) return std::nullopt;
    stride[i] = (*sizes)[i] == old_size ? old_stride[i - lead] : 0;
  }
  for (const std::int64_t size : *sizes) {
    if (size < 0) return std::nullopt;
  }
  return strided_one(std::move(*sizes), x->dtype, std::move(stride));
}

std::optional<Outputs> unsqueeze(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr || !args.integer(1)) return std::nullopt;
  const auto at = dimension(*args.integer(1), x->shape.size() + 1);
  if (!at) return std::nullopt;
  Dims shape = x->shape, stride = strides_of(*x);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*at), 1);
  stride.insert(stride.begin() + static_cast<std::ptrdiff_t>(*at), 1);
  return strided_one(std::move(shape), x->dtype, std::move(stride));
}

std::optional<Outputs> squeeze(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  std::vector<bool> candidate(x->shape.size(), args.count() < 2);
  if (args.count() >= 2) {
    const auto dims = args.integers(1);
    if (!dims) return std::nullopt;
    for (const std::int64_t index : *dims) {
      const auto at = dimension(index, x->shape.size());
      if (!at) return std::nullopt;
      candidate[*at] = true;
    }
  }
  const Dims old_stride = strides_of(*x);
  Dims shape, stride;
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    if (candidate[i] && x->shape[i] == 1) continue;
    shape.push_back(x->shape[i]);
    stride.push_back(old_stride[i]);
  }
  return strided_one(std::move(shape), x->dtype, std::move(stride));
}

std::optional<Outputs> slice(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const auto at = dimension(args.integer_or(1, 0), x->shape.size());
  const std::int64_t step = args.integer_or(4, 1);
  if (!at || step < 1) return std::nullopt;
  const std::int64_t size = x->shape[*at];
  const auto clamped = [size](std::int64_t position) {
    return std::min(std::max<std::int64_t>(position < 0 ? position + size : position, 0), size);
  };
  const std::int64_t start = clamped(args.integer_or(2, 0));
  const std::int64_t end = clamped(args.integer_or(3, std::numeric_limits<std::int64_t>::max()));
  Dims shape = x->shape, stride = strides_of(*x);
  shape[*at] = end > start ? (end - start - 1) / step + 1 : 0;
  stride[*at] = wrapping_product(stride[*at], step);
  return strided_one(std::move(shape), x->dtype, std::move(stride));
}

std::optional<Outputs> select(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr || !args.integer(1)) return std::nullopt;
  const auto at = dimension(*args.integer(1), x->shape.size());
  if (!at) return std::nullopt;
  Dims shape = x->shape, stride = strides_of(*x);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*at));
  stride.erase(stride.begin() + static_cast<std::ptrdiff_t>(*at));
  return strided_one(std::move(shape), x->dtype, std::move(stride));
}

std::optional<Outputs> split(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const auto at = dimension(args.integer_or(2, 0), x->shape.size());
  if (!at) return std::nullopt;
  std::vector<std::int64_t> parts;
  if (const auto size = args.integer(1)) {
    if (*size < 1 || x->shape[*at] / *size > (1 << 16)) return std::nullopt;
    for (std::int64_t left = x->shape[*at]; left > 0; left -= *size) parts.push_back(std::min(left, *size));
  } else if (const auto sizes = args.integers(1)) {
    parts = *sizes;
    std::int64_t total = 0;
    for (const std::int64_t part : parts) {
      if (part < 0 || __builtin_add_overflow(total, part, &total)) return std::nullopt;
    }
    if (total != x->shape[*at]) return std::nullopt;
  } else {
    return std::nullopt;
  }
  Outputs outputs;
  for (const std::int64_t part : parts) {
    Dims shape = x->shape;
    shape[*at] = part;
    outputs.push_back(strided(std::move(shape), x->dtype, strides_of(*x)));
  }
  return outputs;
}

std::optional<Outputs> unbind(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const auto at = dimension(args.integer_or(1, 0), x->shape.size());
  if (!at || x->shape[*at] > (1 << 16)) return std::nullopt;
  Dims shape = x->shape, stride = strides_of(*x);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*at));
  stride.erase(stride.begin() + static_cast<std::ptrdiff_t>(*at));
  return Outputs(static_cast<std::size_t>(x->shape[*at]), strided(shape, x->dtype, stride));
}

std::optional<Outputs> as_strided(const Arguments& args) {
  const TensorType* x = args.tensor(0);
  auto sizes = args.integers(1);
  auto stride = args.integers(2);
  if (x == nullptr || !sizes || !stride || sizes->size() != stride->size()) return std::nullopt;
  return strided_one(std::move(*sizes), x->dtype, std::move(*stride));
}

}  // namespace sgsim::graph::rules
