#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/graph/arguments.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::graph::rules {

using Outputs = std::vector<TensorType>;
/// Shape rule of one operator: its results from its arguments, or nothing when they do not fit.
using Rule = std::optional<Outputs> (*)(const Arguments&);

/// One result of the shape given, row-major.
[[nodiscard]] Outputs one(Dims shape, DType dtype);
/// A dimension index counted from the end when negative; nothing when out of range.
[[nodiscard]] std::optional<std::size_t> dimension(std::int64_t index, std::size_t rank);
/// Dense strides in the order of dimensions that the operands have (TensorIterator's rule: the first operand in which two
/// dimensions differ decides; broadcast dimensions do not count).
[[nodiscard]] TensorType dense_like(std::span<const TensorType* const> operands, const Dims& shape, DType dtype);

// views.cpp
std::optional<Outputs> same_view(const Arguments&);         // detach, alias
std::optional<Outputs> transpose_last(const Arguments&);    // t
std::optional<Outputs> transpose(const Arguments&);
std::optional<Outputs> permute(const Arguments&);
std::optional<Outputs> view(const Arguments&);
std::optional<Outputs> expand(const Arguments&);
std::optional<Outputs> unsqueeze(const Arguments&);
std::optional<Outputs> squeeze(const Arguments&);
std::optional<Outputs> slice(const Arguments&);
std::optional<Outputs> select(const Arguments&);
std::optional<Outputs> split(const Arguments&);
std::optional<Outputs> unbind(const Arguments&);
std::optional<Outputs> as_strided(const Arguments&);

// pointwise.cpp
std::optional<Outputs> pointwise(const Arguments&);         // promotes all tensor operands
std::optional<Outputs> pointwise_floating(const Arguments&);// integers become float32 (div, exp, sigmoid)
std::optional<Outputs> comparison(const Arguments&);        // bool result
std::optional<Outputs> where(const Arguments&);
std::optional<Outputs> gradient_of_first(const Arguments&); // silu_backward(grad, self): type of grad
std::optional<Outputs> gradient_of_second(const Arguments&);// threshold_backward: layout of self first
std::optional<Outputs> cast(const Arguments&);              // clone, _to_copy, contiguous
std::optional<Outputs> like_first(const Arguments&);        // the type of the first tensor, row-major
std::optional<Outputs> dropout(const Arguments&);           // native_dropout: value and mask
std::optional<Outputs> empty_like(const Arguments&);        // *_like factories: layout of the first, dtype keyword

// products.cpp
std::optional<Outputs> mm(const Arguments&);
std::optional<Outputs> addmm(const Arguments&);
std::optional<Outputs> bmm(const Arguments&);
std::optional<Outputs> baddbmm(const Arguments&);
std::optional<Outputs> linear(const Arguments&);
std::optional<Outputs> matmul(const Arguments&);
std::optional<Outputs> attention_cudnn(const Arguments&);
std::optional<Outputs> attention_flash(const Arguments&);
std::optional<Outputs> attention_efficient(const Arguments&);
std::optional<Outputs> attention_cpu(const Arguments&);
std::optional<Outputs> attention_backward(const Arguments&);
std::optional<Outputs> attention_efficient_backward(const Arguments&);
std::optional<Outputs> convolution(const Arguments&);
std::optional<Outputs> convolution_backward(const Arguments&);

// reductions.cpp
std::optional<Outputs> sum(const Arguments&);
std::optional<Outputs> mean(const Arguments&);
std::optional<Outputs> extremum(const Arguments&);          // amax, amin, any, all
std::optional<Outputs> var_mean(const Arguments&);
std::optional<Outputs> scan(const Arguments&);              // cumsum
std::optional<Outputs> softmax(const Arguments&);
std::optional<Outputs> softmax_backward(const Arguments&);
std::optional<Outputs> layer_norm(const Arguments&);
std::optional<Outputs> layer_norm_backward(const Arguments&);
std::optional<Outputs> rms_norm(const Arguments&);
std::optional<Outputs> rms_norm_backward(const Arguments&);
std::optional<Outputs> batch_norm(const Arguments&);
std::optional<Outputs> batch_norm_functional(const Arguments&);
std::optional<Outputs> batch_norm_backward(const Arguments&);
std::optional<Outputs> nll_loss(const Arguments&);
std::optional<Outputs> nll_loss_backward(const Arguments&);

// data.cpp
std::optional<Outputs> embedding(const Arguments&);
std::optional<Outputs> embedding_backward(const Arguments&);
std::optional<Outputs> index(const Arguments&);
std::optional<Outputs> gather(const Arguments&);
std::optional<Outputs> index_select(const Arguments&);
std::optional<Outputs> topk(const Arguments&);
std::optional<Outputs> sort(const Arguments&);
std::optional<Outputs> one_hot(const Arguments&);
std::optional<Outputs> cat(const Arguments&);
std::optional<Outputs> stack(const Arguments&);
std::optional<Outputs> pad(const Arguments&);
std::optional<Outputs> slice_backward(const Arguments&);
std::optional<Outputs> repeat(const Arguments&);
std::optional<Outputs> max_pool(const Arguments&);
std::optional<Outputs> max_pool_backward(const Arguments&);
std::optional<Outputs> adaptive_pool(const Arguments&);
std::optional<Outputs> arange(const Arguments&);
std::optional<Outputs> full(const Arguments&);              // full, zeros, ones, empty, rand: sizes first
std::optional<Outputs> new_full(const Arguments&);          // new_zeros, new_ones: sizes second
std::optional<Outputs> scalar_tensor(const Arguments&);
std::optional<Outputs> all_gather(const Arguments&);
std::optional<Outputs> reduce_scatter(const Arguments&);
std::optional<Outputs> all_to_all(const Arguments&);

}  // namespace sgsim::graph::rules
