#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "sim/compile/arithmetic.h"
#include "sim/compile/eager.h"
#include "sim/compile/operator_effects.h"
#include "sim/compile/value_table.h"
#include "sim/graph/operators.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile {

using graph::MemoryBound;
using graph::MemoryKind;
using graph::Node;
using graph::OperatorClass;
using graph::OperatorGraph;
using graph::TensorType;
using graph::ValueRef;

namespace {

/// Operand and result sizes of a node.
struct Sizes {
  std::vector<Bytes> in;   // distinct operands in argument order
  std::vector<Bytes> out;  // results, absent ones 0
  Bytes read, written;     // sums

  [[nodiscard]] Bytes input(std::size_t i) const { return i < in.size() ? in[i] : Bytes(0.0); }
  [[nodiscard]] Bytes output(std::size_t i) const { return i < out.size() ? out[i] : Bytes(0.0); }
};

Sizes sizes_of(const OperatorGraph& graph, const Node& node) {
  Sizes sizes;
  std::vector<ValueRef> seen;
  graph::for_each_input(node, [&](ValueRef v) {
    if (std::find(seen.begin(), seen.end(), v) != seen.end()) return;
    seen.push_back(v);
    sizes.in.push_back(touched_bytes(graph.type(v)));
    sizes.read += sizes.in.back();
  });
  for (const TensorType& type : node.outputs) {
    sizes.out.push_back(touched_bytes(type));
    sizes.written += sizes.out.back();
  }
  return sizes;
}

double elements_of(const OperatorGraph& graph, const Node& node) {
  double largest = 0.0;
  graph::for_each_input(node, [&](ValueRef v) { largest = std::max(largest, static_cast<double>(graph.type(v).elements())); });
  for (const TensorType& type : node.outputs) largest = std::max(largest, static_cast<double>(type.elements()));
  return largest;
}

/// Radix sort of n int64 keys with their positions (CUB onesweep: 8 passes of 8 bits, a histogram and a prefix sum before).
void add_sort(std::vector<MemoryBound>& kernels, double n) {
  constexpr int kPasses = 8;
  const Bytes keys(n * 8.0);
  kernels.push_back({.kind = MemoryKind::reduction, .read = keys, .written = {}, .flops = {}});
  kernels.push_back({.kind = MemoryKind::reduction, .read = {}, .written = {}, .flops = {}});
  for (int pass = 0; pass < kPasses; ++pass)
    kernels.push_back({.kind = MemoryKind::gather_scatter, .read = keys * 2.0, .written = keys * 2.0, .flops = {}});
}

/// aten::embedding_dense_backward: up to 3,072 indices one kernel walks them (PyTorch, EmbeddingBackwardKernel.cu);
/// more are sorted, and equal rows summed in two stages.
std::vector<MemoryBound> embedding_gradient(const OperatorGraph& graph, const Node& node, const Sizes& s) {
  constexpr double kMaxUnsorted = 3072.0;
  double indices = 0.0;
  graph::for_each_input(node, [&](ValueRef v) {
    if (!graph::is_floating(graph.type(v).dtype)) indices = static_cast<double>(graph.type(v).elements());
  });
  std::vector<MemoryBound> kernels{{.kind = MemoryKind::copy, .read = {}, .written = s.written, .flops = {}}};
  if (indices <= kMaxUnsorted) {
    kernels.push_back({.kind = MemoryKind::embedding_gradient, .read = s.read, .written = s.input(0), .flops = {}});
    return kernels;
  }
  add_sort(kernels, indices);
  constexpr int kSegmentKernels = 6;  // unique-by-key (2), partial counts, two prefix sums, offsets
  for (int i = 0; i < kSegmentKernels; ++i)
    kernels.push_back({.kind = MemoryKind::reduction, .read = Bytes(indices * 8.0), .written = Bytes(indices * 8.0), .flops = {}});
  kernels.push_back({.kind = MemoryKind::embedding_gradient, .read = s.read, .written = s.input(0), .flops = {}});
  kernels.push_back({.kind = MemoryKind::embedding_gradient, .read = s.input(0), .written = s.input(0), .flops = {}});
  return kernels;
}

/// index_put with accumulation: linear indices, a sort, and one kernel over the sorted rows.
std::vector<MemoryBound> index_put(const OperatorGraph& graph, const Node& node, const Sizes& s) {
  double indices = 0.0;
  graph::for_each_input(node, [&](ValueRef v) {
    if (graph.type(v).dtype == graph::DType::int64) indices = std::max(indices, static_cast<double>(graph.type(v).elements()));
  });
  std::vector<MemoryBound> kernels{{.kind = MemoryKind::copy, .read = s.input(0), .written = s.written, .flops = {}}};
  constexpr int kIndexKernels = 4;  // wrap, scale, positions, divide
  for (int i = 0; i < kIndexKernels; ++i)
    kernels.push_back({.kind = MemoryKind::pointwise, .read = Bytes(indices * 8.0), .written = Bytes(indices * 8.0), .flops = {}});
  add_sort(kernels, indices);
  const Bytes values = s.in.empty() ? Bytes(0.0) : s.in.back();
  kernels.push_back({.kind = MemoryKind::embedding_gradient, .read = values * 2.0, .written = values, .flops = {}});
  return kernels;
}

MemoryKind kind_of(OperatorClass operator_class) {
  switch (operator_class) {
    case OperatorClass::reduction: return MemoryKind::reduction;
    case OperatorClass::norm: return MemoryKind::norm;
    case OperatorClass::softmax: return MemoryKind::softmax;
    case OperatorClass::loss: return MemoryKind::cross_entropy;
    case OperatorClass::embedding: return MemoryKind::embedding;
    case OperatorClass::copy:
    case OperatorClass::factory: return MemoryKind::copy;
    case OperatorClass::index: return MemoryKind::gather_scatter;
    case OperatorClass::pool: return MemoryKind::pooling;
    default: return MemoryKind::pointwise;
  }
}

/// Operators that fill a result first and then copy or scatter into it.
bool fills_first(std::string_view name) {
  return name == "constant_pad_nd" || name == "slice_backward" || name == "select_backward" || name == "nll_loss_backward" ||
         name == "nll_loss2d_backward" || name == "max_pool2d_with_indices_backward" || name == "one_hot" ||
         name == "avg_pool2d_backward";
}

/// Functional forms that copy their first operand and then write into the copy.
bool copies_first(std::string_view name) {
  return name == "scatter" || name == "scatter_add" || name == "index_add" || name == "index_copy" ||
         name == "slice_scatter" || name == "select_scatter" || name == "as_strided_scatter" || name == "index_fill";
}

/// A copy whose operand and result have their elements in another order.
bool reorders(const OperatorGraph& graph, const Node& node) {
  const ValueRef source = first_input(node);
  if (!source.node.valid() || node.outputs.empty()) return false;
  const TensorType& from = graph.type(source);
  const TensorType& to = node.outputs[0];
  return from.shape == to.shape && from.shape.size() > 1 && !from.stride.empty() && from.stride.back() != 1 &&
         from.shape.back() != 1 && from.stride != to.stride;
}

// ATen's elementwise kernels read vectors of elements only where all operands are dense, in one order and of one type (and for the
// cast to a lower type); else each element costs instructions, as flops at the vector peak. Measured: H200, PyTorch 2.11, 2^23 to
// 2^27 elements, docs/records/h200-pytorch-2026-11-30: 0.27 elements/ps with operands of two types (an addition 0.256, a product
// 0.276), 0.34 for a cast to a wider type, 0.32 for 4-byte and 0.39 for 2-byte results where an operand is broadcast, strided or a
// slice (0.29 to 0.33; 0.36 to 0.40).
constexpr double kMixedFlops = 252.0, kWidenFlops = 197.0, kScalarFlops4 = 209.0, kScalarFlops2 = 172.0;
// The same of other kernels: log_softmax over a vocabulary 0.26 (0.25 to 0.35) and its gradient 0.238 elements/ps; layer norm's
// gradients of 4-byte elements 0.155 for both kernels, of 2-byte ones 0.29.
constexpr double kLogSoftmaxFlops = 256.0, kLogSoftmaxBackwardFlops = 281.0;
constexpr double kNormInput4 = 300.0, kNormWeight4 = 130.0, kNormInput2 = 141.0, kNormWeight2 = 90.0;

/// Flops an element that the instructions of an elementwise kernel are worth; 0 where it reads vectors.
double instruction_flops(const OperatorGraph& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0].elements() <= 1) return 0.0;
  const TensorType& out = node.outputs[0];
  const graph::Dims order = graph::strides_of(out);
  bool mixed = false, scalar = false, wider = false;
  int operands = 0;
  graph::for_each_input(node, [&](ValueRef v) {
    const TensorType& type = graph.type(v);
    if (type.shape.empty()) return;
    ++operands;
    if (graph::is_floating(type.dtype) && graph::is_floating(out.dtype)) {
      mixed |= type.dtype != out.dtype;
      wider |= graph::size_of(type.dtype) < graph::size_of(out.dtype);
    }
    scalar |= type.shape != out.shape || graph::strides_of(type) != order;
  });
  const bool narrow = graph::size_of(out.dtype) <= 2.0;
  if (operands > 1 && mixed) return kMixedFlops;
  if (scalar) return narrow ? kScalarFlops2 : kScalarFlops4;
  return operands == 1 && wider ? kWidenFlops : 0.0;
}

}  // namespace

std::vector<MemoryBound> eager_kernels(const OperatorGraph& graph, const Node& node) {
  const OperatorClass operator_class = graph::classify(node.target);
  const std::string_view name = base_name(node.target);
  if (operator_class == OperatorClass::view || name == "empty" || name == "empty_like" || name == "new_empty") return {};
  const Sizes s = sizes_of(graph, node);
  const Flops elements(elements_of(graph, node)), flops = elements * flops_of(name);
  if (name == "native_layer_norm_backward" || name == "_fused_rms_norm_backward") {
    const bool narrow = graph::size_of(node.outputs[0].dtype) <= 2.0;
    return {{.kind = MemoryKind::norm, .read = s.read, .written = s.output(0), .flops = elements * (narrow ? kNormInput2 : kNormInput4)},
            {.kind = MemoryKind::reduction, .read = s.read, .written = s.written - s.output(0), .flops = elements * (narrow ? kNormWeight2 : kNormWeight4)}};
  }
  if (name.find("batch_norm") != std::string_view::npos)  // statistics first, then the elements: two passes over the operands
    return {{.kind = MemoryKind::norm, .read = s.read * 2.0, .written = s.written, .flops = elements * 8.0}};
  if (name == "embedding_dense_backward") return embedding_gradient(graph, node, s);
  if (name == "index_put" || name == "_unsafe_index_put") return index_put(graph, node, s);
  if (name == "embedding")  // reads the rows that the indices name, not the table
    return {{.kind = MemoryKind::embedding, .read = s.written + s.input(1), .written = s.written, .flops = {}}};
  if (name == "index" || name == "gather" || name == "index_select" || name == "_unsafe_index")
    return {{.kind = MemoryKind::gather_scatter, .read = s.written + s.read - s.input(0), .written = s.written, .flops = {}}};
  if (fills_first(name))
    return {{.kind = MemoryKind::copy, .read = {}, .written = s.written, .flops = {}},
            {.kind = kind_of(operator_class), .read = s.read, .written = std::min(s.read, s.written), .flops = flops}};
  if (name == "masked_fill")  // masked_fill_ on the copy reads and writes all of it
    return {{.kind = MemoryKind::copy, .read = s.input(0), .written = s.written, .flops = {}},
            {.kind = kind_of(operator_class), .read = s.read, .written = s.written, .flops = std::max(flops, elements * instruction_flops(graph, node))}};
  if (copies_first(name))
    return {{.kind = MemoryKind::copy, .read = s.input(0), .written = s.written, .flops = {}},
            {.kind = kind_of(operator_class), .read = s.read - s.input(0), .written = std::min(s.written, s.read), .flops = flops}};
  if (name == "cat" || name == "stack" || name == "repeat" || name == "roll" || name == "flip")
    return {{.kind = MemoryKind::copy, .read = s.read, .written = s.written, .flops = {}}};
  // Over a vocabulary a row does not stay on chip.
  const bool of_loss = name.starts_with("_log_softmax");
  MemoryKind kind = of_loss ? MemoryKind::cross_entropy : kind_of(operator_class);
  if (kind == MemoryKind::copy && reorders(graph, node)) kind = MemoryKind::transpose;
  if (name == "_log_softmax") return {{.kind = kind, .read = s.read, .written = s.written, .flops = elements * kLogSoftmaxFlops}};
  if (name == "_log_softmax_backward_data") return {{.kind = kind, .read = s.read, .written = s.written, .flops = elements * kLogSoftmaxBackwardFlops}};
  const bool elementwise = kind == MemoryKind::pointwise || (kind == MemoryKind::copy && name != "fill" && operator_class != OperatorClass::factory);
  return {{.kind = kind, .read = s.read, .written = s.written, .flops = elementwise ? std::max(flops, elements * instruction_flops(graph, node)) : flops}};
}

}  // namespace sgsim::compile
