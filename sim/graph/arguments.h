#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::graph {

/// Reads the arguments of one call; absent or of another kind gives nothing. Positions are those of the aten schema.
class Arguments {
 public:
  Arguments(const OperatorGraph& graph, const Node& node) : graph_(graph), node_(node) {}

  [[nodiscard]] std::size_t count() const { return node_.args.size(); }
  /// Type of a tensor operand.
  [[nodiscard]] const TensorType* tensor(std::size_t position) const;
  /// Types of a list of tensors (cat); entries that are None give a null pointer.
  [[nodiscard]] std::vector<const TensorType*> tensors(std::size_t position) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t position) const;
  [[nodiscard]] std::int64_t integer_or(std::size_t position, std::int64_t otherwise) const;
  [[nodiscard]] bool flag_or(std::size_t position, bool otherwise) const;
  /// A list of integers; one integer stands for itself `repeat` times (PyTorch's int[2] arguments).
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t position, std::size_t repeat = 1) const;
  [[nodiscard]] std::vector<bool> flags(std::size_t position) const;
  [[nodiscard]] bool is_list(std::size_t position) const;
  /// True for a Python float (a scalar operand that makes an integer tensor floating).
  [[nodiscard]] bool is_float(std::size_t position) const;
  [[nodiscard]] std::optional<std::string_view> text(std::size_t position) const;
  [[nodiscard]] const Argument* keyword(std::string_view key) const;
  [[nodiscard]] std::optional<DType> dtype(std::string_view key = "dtype") const;
  [[nodiscard]] bool keyword_flag(std::string_view key, bool otherwise) const;
  [[nodiscard]] const TensorType* keyword_tensor(std::string_view key) const;
  /// Every tensor that is read, in argument order.
  [[nodiscard]] std::vector<const TensorType*> all_tensors() const;
  [[nodiscard]] const Node& node() const { return node_; }

 private:
  [[nodiscard]] const Argument* at(std::size_t position) const;
  [[nodiscard]] const TensorType* type_of(const Argument* argument) const;

  const OperatorGraph& graph_;
  const Node& node_;
};

}  // namespace sgsim::graph
