#pragma once

#include <initializer_list>
#include <vector>

#include "sim/compile/fuse/program.h"
#include "sim/compile/value_table.h"
#include "sim/graph/arguments.h"
#include "sim/graph/graph.h"

namespace sgsim::compile::fuse {

/// Appends elementary operators to a program, on behalf of one aten operator after the other.
class ProgramBuilder {
 public:
  ProgramBuilder(const graph::OperatorGraph& graph, const ValueTable& table, const OperatorTable& operators)
      : graph_(graph), table_(table), operators_(operators) {
    program_.value_of.assign(table.size(), kNone);
    program_.values.reserve(table.size() * 3 / 2);
    program_.ops.reserve(table.size() * 3 / 2);
    program_.operands.reserve(table.size() * 3);
  }

  /// The operators that follow are part of this node.
  void begin(NodeId node, std::uint32_t piece);

  [[nodiscard]] const graph::OperatorGraph& graph() const { return graph_; }
  [[nodiscard]] const graph::Node& node() const { return graph_.node(node_); }
  /// "native_layer_norm" of the node at hand.
  [[nodiscard]] std::string_view name() const { return operators_.of(node_).name; }
  [[nodiscard]] graph::Arguments arguments() const { return {graph_, node()}; }
  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] const Value& value(std::uint32_t v) const { return program_.values[v]; }
  /// The value of a tensor argument of the node; kNone when there is none at this position.
  [[nodiscard]] std::uint32_t operand(std::size_t position) const;
  /// The tensor operands of the node, in argument order, each once.
  [[nodiscard]] std::vector<std::uint32_t> operands() const;
  /// The same, as often as they stand there (cat of one value with itself).
  [[nodiscard]] std::vector<std::uint32_t> repeated_operands() const;

  /// A value that no operator makes.
  std::uint32_t source(graph::NodeKind kind);
  /// An operator with one result. `shape` is the result's; its type is a graph output's or `dtype`.
  std::uint32_t add(OpKind kind, const std::vector<std::uint32_t>& inputs, const Dims& shape, graph::DType dtype, int arithmetic = 1);
  std::uint32_t pointwise(std::initializer_list<std::uint32_t> inputs, const Dims& shape, graph::DType dtype, int arithmetic);
  /// Reduces the dimensions of `mask` of the first input; keeps them as size 1. `results` values from one pass, numbered in a row.
  std::uint32_t reduce(const std::vector<std::uint32_t>& inputs, std::uint32_t mask, graph::DType dtype, int results = 1);
  /// The last operator added, for marking.
  [[nodiscard]] Op& last() { return program_.ops.back(); }

  /// Binds output `output` of the node to a value.
  void bind(std::uint32_t output, std::uint32_t value);
  /// One operator with all of the node's operands and results.
  void whole(OpKind kind, const std::vector<std::uint32_t>& inputs);

 private:
  Value& new_value(const Dims& shape, graph::DType dtype);
  Op& new_op(OpKind kind, const std::vector<std::uint32_t>& inputs);

  const graph::OperatorGraph& graph_;
  const ValueTable& table_;
  const OperatorTable& operators_;
  Program program_;
  NodeId node_;
  std::uint32_t piece_ = 0;
};

/// Shape of a tensor type. Throws InputError for more than kMaxRank dimensions.
[[nodiscard]] Dims shape_of(const graph::TensorType& type);
/// Strides that a tensor of this type has once written: its own where they are dense, else row-major.
[[nodiscard]] Dims storage_of(const graph::TensorType& type);
/// The mask of dimensions, counted from the end when negative; all of them for an empty list.
[[nodiscard]] std::uint32_t mask_of(const std::vector<std::int64_t>& dimensions, std::uint32_t rank);

/// decompose_norm.cpp, decompose_loss.cpp: true when they know the operator and have added it.
bool decompose_norm(ProgramBuilder& builder);
bool decompose_softmax_or_loss(ProgramBuilder& builder);

}  // namespace sgsim::compile::fuse
