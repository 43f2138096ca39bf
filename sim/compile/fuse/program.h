#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/ids.h"
#include "sim/graph/graph.h"
#include "sim/graph/work.h"

namespace sgsim::compile::fuse {

inline constexpr std::size_t kMaxRank = 8;

/// A shape or the strides over a shape, without a heap allocation.
struct Dims {
  std::array<std::int64_t, kMaxRank> at{};
  std::uint32_t rank = 0;

  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return at[i]; }
  [[nodiscard]] std::int64_t& operator[](std::size_t i) { return at[i]; }
  void push_back(std::int64_t v) { at[rank++] = v; }
  [[nodiscard]] std::int64_t product() const;
  bool operator==(const Dims& o) const;
};

/// Row-major strides of a shape.
[[nodiscard]] Dims row_major(const Dims& shape);

/// What an elementary operator is to partitioning and fusion.
enum class OpKind : std::uint8_t {
  constant,       // a result without operands: arange, full, zeros
  view,           // a new look at the same memory
  pointwise,      // one result element from the operands' elements at the same place
  rearrange,      // pointwise whose operands are read at other places: cat, pad, pool, slice_backward, flip
  gather,         // rows of its first operand, named by the others
  reduction,      // the dimensions of `reduced` to one element; several results from one pass (mean and variance)
  scan,           // cumsum: like a reduction, but keeps all elements
  scatter,        // adds or writes rows of its second operand into its first, at places named by the others
  external,       // a library kernel
  communication,  // a collective
  opaque,         // an operator of which nothing is known: reads all, writes all, fuses with nothing
};

enum class ViewKind : std::uint8_t { alias, permute, reshape, expand, slice };
/// How a view's elements are found in what it looks at; shapes are those of operand and result.
struct View {
  ViewKind kind = ViewKind::alias;
  Dims permutation;                             // permute: result dimension i is operand dimension permutation[i]
  std::uint32_t dimension = 0;                  // slice; a rearrangement that puts its operands side by side (kind slice)
  std::int64_t start = 0, step = 1;             // slice; place of the first operand
  bool drops_dimension = false;                 // select: the dimension vanishes
};

/// A value between elementary operators. `storage` strides are those it gets when it is written to memory.
struct Value {
  Dims shape, storage;
  std::uint32_t op = 0;            // that makes it; kNone for parameters, buffers and inputs
  graph::ValueRef ref;             // value of the operator graph that it is; invalid for intermediates of a decomposition
  graph::DType dtype = graph::DType::float32;
  graph::NodeKind source = graph::NodeKind::call;  // of a value that no operator makes
  bool must_write = false;         // read from outside the graph: outputs, gradients, in-place results

  [[nodiscard]] std::int64_t elements() const { return shape.product(); }
  [[nodiscard]] double bytes() const { return static_cast<double>(elements()) * graph::size_of(dtype); }
};

inline constexpr std::uint32_t kNone = 0xffffffffU;

/// An elementary operator: what is left of an aten operator after Inductor's decompositions.
struct Op {
  OpKind kind = OpKind::pointwise;
  NodeId node;                                // aten operator that it is part of
  std::uint32_t first_input = 0, inputs = 0;  // range of Program::operands
  std::uint32_t first_output = 0, outputs = 1;  // values, numbered in a row
  std::uint32_t reduced = 0;                  // reduction, scan: bit d set when dimension d of the operand is reduced
  std::uint16_t arithmetic = 1;               // operations an element, as Inductor counts them
  float flops = 1.0F;                         // flops an element (arithmetic.h)
  std::uint16_t piece = 0;                    // compiled piece (graph breaks)
  graph::Phase phase = graph::Phase::forward;
  bool recomputable = true;                   // may be run again in the backward pass (partition.h)
  bool random = false;                        // draws numbers: fuses, but is never run again
  bool online = false;                        // reduction that keeps a running result (softmax statistics, Welford)
  bool tangent = false;                       // where the backward pass starts: made by autograd, outside the graph
  View view;
};

/// The graph as elementary operators in an order that runs.
struct Program {
  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<std::uint32_t> operands;        // values that ops read
  std::vector<std::uint32_t> value_of;        // by number in the graph's ValueTable

  [[nodiscard]] std::span<const std::uint32_t> inputs(const Op& op) const {
    return {operands.data() + op.first_input, op.inputs};
  }
};

}  // namespace sgsim::compile::fuse
