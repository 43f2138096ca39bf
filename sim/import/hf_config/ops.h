#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/import/hf_config/tape.h"

// Differentiable aten operators on a tape. Each emits what autograd's formula emits (PyTorch derivatives.yaml), so a
// generated backward pass holds the operators of a captured one.
namespace sgsim::import::hf {

// views
ValueRef view(Tape& tape, ValueRef x, Dims sizes);
/// A view where the layout allows it, else a copy (clone and _unsafe_view), as reshape decides.
ValueRef reshape(Tape& tape, ValueRef x, Dims sizes);
ValueRef unsafe_view(Tape& tape, ValueRef x, Dims sizes);
ValueRef transpose(Tape& tape, ValueRef x, int a, int b);
ValueRef t(Tape& tape, ValueRef x);
ValueRef unsqueeze(Tape& tape, ValueRef x, int dim);
ValueRef expand(Tape& tape, ValueRef x, Dims sizes);
ValueRef slice(Tape& tape, ValueRef x, int dim, std::int64_t start, std::int64_t end);
/// Parts of `size` along a dimension that it divides; each must be read.
std::vector<ValueRef> split(Tape& tape, ValueRef x, std::int64_t size, int dim);

// pointwise and copies
ValueRef cast(Tape& tape, ValueRef x, DType dtype);   // nothing when it has the type already
ValueRef contiguous_clone(Tape& tape, ValueRef x);
ValueRef dropout(Tape& tape, ValueRef x, double p);   // p = 0 clones, as nn.Dropout does in training
ValueRef add(Tape& tape, ValueRef a, ValueRef b);
ValueRef add(Tape& tape, ValueRef a, double b);
ValueRef mul(Tape& tape, ValueRef a, ValueRef b);
ValueRef mul(Tape& tape, ValueRef a, double b);
ValueRef div(Tape& tape, ValueRef a, ValueRef b);
ValueRef neg(Tape& tape, ValueRef x);
ValueRef pow(Tape& tape, ValueRef x, double exponent);
ValueRef rsqrt(Tape& tape, ValueRef x);
ValueRef tanh(Tape& tape, ValueRef x);
ValueRef silu(Tape& tape, ValueRef x);
ValueRef relu(Tape& tape, ValueRef x);
ValueRef gelu(Tape& tape, ValueRef x, bool tanh_approximation);
ValueRef cat(Tape& tape, ValueRef a, ValueRef b, int dim);
ValueRef masked_fill(Tape& tape, ValueRef x, ValueRef mask, double value);
ValueRef masked_fill_in_place(Tape& tape, ValueRef x, ValueRef mask, double value);  // its gradient is not

// reductions, norms, softmax, loss
ValueRef mean_last(Tape& tape, ValueRef x);
ValueRef sum_last(Tape& tape, ValueRef x);
ValueRef sum_middle(Tape& tape, ValueRef x);  // [a, b, c] -> [a, c]
ValueRef native_layer_norm(Tape& tape, ValueRef x, ValueRef weight, ValueRef bias, double eps);
ValueRef softmax(Tape& tape, ValueRef x);
ValueRef log_softmax(Tape& tape, ValueRef x);
ValueRef nll_loss(Tape& tape, ValueRef log_probabilities, ValueRef labels);

// products
ValueRef mm(Tape& tape, ValueRef a, ValueRef b);
ValueRef addmm(Tape& tape, ValueRef bias, ValueRef a, ValueRef b);
/// `before`: what is called before the product and before each of its two gradients.
ValueRef bmm(Tape& tape, ValueRef a, ValueRef b, const std::function<void()>& before = [] {});
/// Fused attention over [batch, heads, length, size]: cuDNN's operator with a dense mask, else the flash operator.
ValueRef fused_attention(Tape& tape, ValueRef q, ValueRef k, ValueRef v, std::optional<ValueRef> mask, bool causal, double dropout);

// data movement
ValueRef embedding(Tape& tape, ValueRef weight, ValueRef indices);
ValueRef index_select(Tape& tape, ValueRef x, int dim, ValueRef indices);
/// Rows of x added into `rows` zero rows at `indices`.
ValueRef index_add_rows(Tape& tape, std::int64_t rows, ValueRef indices, ValueRef x);
struct TopK {
  ValueRef values, indices;
};
TopK topk_last(Tape& tape, ValueRef x, std::int64_t k);

/// A gradient summed down to the shape (and cast to the type) of the value it belongs to.
ValueRef reduced_to(Tape& tape, ValueRef gradient, const TensorType& type);

}  // namespace sgsim::import::hf
