#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/onnx/model.h"

namespace sgsim::import::onnx {

using graph::Argument;
using graph::Dims;
using graph::DType;
using graph::TensorType;
using graph::ValueRef;

/// A tensor whose elements are known while reading: shapes, axes, scalars.
struct Constant {
  DType dtype = DType::int64;
  Dims shape;
  std::vector<double> values;
};

/// Turns ONNX nodes into aten calls, in order. Values are looked up by their ONNX names.
class Converter {
 public:
  Converter(const Model& model, Diagnostics& report) : model_(model), report_(report) {}
  [[nodiscard]] graph::OperatorGraph run();

  // What the operators' handlers use. Inputs by position; absent ones give nothing.
  [[nodiscard]] std::optional<ValueRef> tensor(const Node& node, std::size_t input);
  [[nodiscard]] ValueRef required(const Node& node, std::size_t input);
  [[nodiscard]] const Constant* constant(const Node& node, std::size_t input) const;
  [[nodiscard]] std::optional<Dims> integers(const Node& node, std::size_t input) const;
  [[nodiscard]] const TensorType& type(ValueRef ref) const { return graph_.type(ref); }
  [[nodiscard]] std::int64_t opset(std::string_view domain) const;
  [[nodiscard]] std::int64_t integer(const Node& node, std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] double real(const Node& node, std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::optional<Dims> integers(const Node& node, std::string_view attribute) const;
  [[nodiscard]] std::string text(const Node& node, std::string_view attribute, std::string otherwise) const;
  /// An axis counted from the end made one from the front. Throws where it is out of range.
  [[nodiscard]] std::size_t axis(const Node& node, std::int64_t index, std::size_t rank) const;

  /// Appends a call whose results are inferred, or are `types` where given. Throws InputError when neither is known.
  ValueRef call(const Node& node, std::string_view target, std::vector<Argument> args, std::map<std::string, Argument> kwargs = {}, std::vector<TensorType> types = {});
  /// A weight whose numbers the model leaves out, under the name of the node's result.
  ValueRef absent_weight(const Node& node, TensorType type);
  /// The value seen in another shape of as many elements (a copy first where strides forbid it).
  ValueRef reshape(const Node& node, ValueRef value, Dims shape);
  void set(const Node& node, std::size_t output, ValueRef value);
  void set(const Node& node, std::size_t output, Constant value);
  void convert(const Node& node);
  void count(std::string_view what, Severity severity, std::string_view example);
  [[noreturn]] void fail(const Node& node, std::string found, std::string expected) const;
  /// Nodes of a subgraph, in place; its outputs become those of `node`.
  void inline_graph(const Node& node, const Graph& body);

 private:
  void add_initializer(const Tensor& tensor);
  void add_input(const ValueInfo& info);
  void remember_types(const Graph& graph);
  void keep(const Node& node);
  [[nodiscard]] std::optional<TensorType> declared(const std::string& name) const;
  ValueRef source(graph::NodeKind kind, std::string name, TensorType type);
  [[nodiscard]] graph::OperatorGraph sources_first();

  const Model& model_;
  Diagnostics& report_;
  graph::OperatorGraph graph_;
  std::map<std::string, ValueRef, std::less<>> values_;
  std::map<std::string, Constant, std::less<>> constants_;
  std::map<std::string, TensorType, std::less<>> declared_;
  std::map<std::string, int, std::less<>> names_;
  int depth_ = 0;
};

using Handler = void (*)(Converter&, const Node&);
/// The handler of an operator of the standard domain; nothing when there is none.
[[nodiscard]] Handler handler_of(std::string_view op);
/// Computes a node whose inputs are all known; false when it is none of those that shapes are made with.
[[nodiscard]] bool fold(Converter& converter, const Node& node);

// ops_*.cpp
[[nodiscard]] const std::map<std::string_view, Handler>& pointwise_handlers();
[[nodiscard]] const std::map<std::string_view, Handler>& product_handlers();
[[nodiscard]] const std::map<std::string_view, Handler>& shape_handlers();
[[nodiscard]] const std::map<std::string_view, Handler>& reduce_handlers();

[[nodiscard]] Argument list_argument(const Dims& values);

}  // namespace sgsim::import::onnx
