#include "sim/compile/fuse/program_builder.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile::fuse {

using graph::DType;
using graph::ValueRef;

Dims shape_of(const graph::TensorType& type) {
  if (type.shape.size() > kMaxRank)
    throw InputError({.file = {}, .where = "operator graph", .found = "a tensor of " + std::to_string(type.shape.size()) + " dimensions",
                      .expected = "at most " + std::to_string(kMaxRank), .hint = {}});
  Dims dims;
  for (const std::int64_t d : type.shape) dims.push_back(d);
  return dims;
}

Dims storage_of(const graph::TensorType& type) {
  const Dims shape = shape_of(type);
  if (type.stride.size() != type.shape.size()) return row_major(shape);
  Dims strides;
  for (const std::int64_t s : type.stride) strides.push_back(s);
  std::array<std::uint32_t, kMaxRank> order{};
  std::uint32_t n = 0;
  for (std::uint32_t d = 0; d < shape.rank; ++d) {
    if (shape[d] != 1) order[n++] = d;
  }
  std::sort(order.begin(), order.begin() + n, [&](std::uint32_t a, std::uint32_t b) { return strides[a] < strides[b]; });
  std::int64_t expected = 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (strides[order[i]] != expected) return row_major(shape);
    expected *= shape[order[i]];
  }
  return strides;
}

std::uint32_t mask_of(const std::vector<std::int64_t>& dimensions, std::uint32_t rank) {
  const std::uint32_t all = (1U << rank) - 1U;
  if (dimensions.empty()) return all;
  std::uint32_t mask = 0;
  for (const std::int64_t d : dimensions) {
    const std::int64_t positive = d < 0 ? d + rank : d;
    if (positive >= 0 && positive < rank) mask |= 1U << static_cast<std::uint32_t>(positive);
  }
  return mask;
}

void ProgramBuilder::begin(NodeId node, std::uint32_t piece) {
  node_ = node;
  piece_ = piece;
}

std::uint32_t ProgramBuilder::operand(std::size_t position) const {
  if (position >= node().args.size()) return kNone;
  const auto* ref = std::get_if<ValueRef>(&node().args[position].value);
  return ref == nullptr ? kNone : program_.value_of[table_.index(*ref)];
}

std::vector<std::uint32_t> ProgramBuilder::repeated_operands() const {
  std::vector<std::uint32_t> found;
  graph::for_each_input(node(), [&](ValueRef v) {
    const std::uint32_t value = program_.value_of[table_.index(v)];
    if (value != kNone) found.push_back(value);
  });
  return found;
}

std::vector<std::uint32_t> ProgramBuilder::operands() const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t value : repeated_operands()) {
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
  }
  return found;
}

Value& ProgramBuilder::new_value(const Dims& shape, DType dtype) {
  Value value;
  value.shape = shape;
  value.storage = row_major(shape);
  value.dtype = dtype;
  value.op = static_cast<std::uint32_t>(program_.ops.size()) - 1;
  program_.values.push_back(value);
  return program_.values.back();
}

Op& ProgramBuilder::new_op(OpKind kind, const std::vector<std::uint32_t>& inputs) {
  Op op;
  op.kind = kind;
  op.node = node_;
  op.piece = static_cast<std::uint16_t>(piece_);
  op.phase = node().phase;
  op.first_input = static_cast<std::uint32_t>(program_.operands.size());
  for (const std::uint32_t input : inputs) {
    if (input != kNone) program_.operands.push_back(input);
  }
  op.inputs = static_cast<std::uint32_t>(program_.operands.size()) - op.first_input;
  op.first_output = static_cast<std::uint32_t>(program_.values.size());
  op.recomputable = kind == OpKind::pointwise || kind == OpKind::view || kind == OpKind::constant || kind == OpKind::rearrange ||
                    kind == OpKind::reduction || kind == OpKind::gather;
  program_.ops.push_back(op);
  return program_.ops.back();
}

std::uint32_t ProgramBuilder::source(graph::NodeKind kind) {
  Value value;
  value.shape = shape_of(node().outputs[0]);
  value.storage = storage_of(node().outputs[0]);
  value.dtype = node().outputs[0].dtype;
  value.op = kNone;
  value.source = kind;
  program_.values.push_back(value);
  const auto id = static_cast<std::uint32_t>(program_.values.size() - 1);
  bind(0, id);
  return id;
}

std::uint32_t ProgramBuilder::add(OpKind kind, const std::vector<std::uint32_t>& inputs, const Dims& shape, DType dtype, int arithmetic) {
  Op& op = new_op(kind, inputs);
  op.arithmetic = static_cast<std::uint16_t>(arithmetic);
  op.flops = static_cast<float>(arithmetic);
  Value& made = new_value(shape, dtype);
  if (kind == OpKind::pointwise) {  // lies in memory as its operands do
    for (const std::uint32_t input : inputs) {
      if (input == kNone || !(program_.values[input].shape == shape)) continue;
      made.storage = program_.values[input].storage;
      break;
    }
  }
  return static_cast<std::uint32_t>(program_.values.size() - 1);
}

std::uint32_t ProgramBuilder::pointwise(std::initializer_list<std::uint32_t> inputs, const Dims& shape, DType dtype, int arithmetic) {
  return add(OpKind::pointwise, inputs, shape, dtype, arithmetic);
}

std::uint32_t ProgramBuilder::reduce(const std::vector<std::uint32_t>& inputs, std::uint32_t mask, DType dtype, int results) {
  Dims shape = program_.values[inputs.at(0)].shape;
  for (const std::uint32_t input : inputs) {  // operands may be broadcast against each other
    const Dims& other = program_.values[input].shape;
    for (std::uint32_t d = 0; d < shape.rank && d < other.rank; ++d)
      shape[shape.rank - 1 - d] = std::max(shape[shape.rank - 1 - d], other[other.rank - 1 - d]);
  }
  Op& op = new_op(OpKind::reduction, inputs);
  op.reduced = mask;
  op.outputs = static_cast<std::uint32_t>(results);
  op.online = results > 1;
  const std::uint32_t first = op.first_output;
  for (std::uint32_t d = 0; d < shape.rank; ++d) {
    if ((mask >> d) & 1U) shape[d] = 1;
  }
  for (int i = 0; i < results; ++i) new_value(shape, dtype);
  return first;
}

void ProgramBuilder::bind(std::uint32_t output, std::uint32_t value) {
  if (output >= node().outputs.size() || value == kNone) return;
  const ValueRef ref{node_, output};
  program_.value_of[table_.index(ref)] = value;
  Value& bound = program_.values[value];
  if (bound.ref.node.valid()) return;  // two results of the graph are one value: the first names it
  bound.ref = ref;
  const graph::TensorType& type = node().outputs[output];
  if (type.shape.size() == bound.shape.rank && bound.op != kNone) bound.storage = storage_of(type);
}

void ProgramBuilder::whole(OpKind kind, const std::vector<std::uint32_t>& inputs) {
  Op& op = new_op(kind, inputs);
  op.outputs = static_cast<std::uint32_t>(node().outputs.size());
  const std::uint32_t first = op.first_output;
  for (const graph::TensorType& type : node().outputs) new_value(shape_of(type), type.dtype);
  for (std::uint32_t i = 0; i < node().outputs.size(); ++i) bind(i, first + i);
}

}  // namespace sgsim::compile::fuse
