#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::import::hf {

using graph::Argument;
using graph::Dims;
using graph::DType;
using graph::TensorType;
using graph::ValueRef;

/// Keyword arguments of a call, by name.
using Keywords = std::map<std::string, Argument>;

// Appends one argument of a call.
void put(std::vector<Argument>& args, ValueRef value);
void put(std::vector<Argument>& args, Argument value);
void put(std::vector<Argument>& args, std::nullptr_t);
void put(std::vector<Argument>& args, bool value);
void put(std::vector<Argument>& args, double value);
void put(std::vector<Argument>& args, std::int64_t value);
void put(std::vector<Argument>& args, const Dims& sizes);
inline void put(std::vector<Argument>& args, int value) { put(args, std::int64_t{value}); }
[[nodiscard]] Argument list_of(const std::vector<ValueRef>& values);
[[nodiscard]] Argument flags_of(std::initializer_list<bool> values);
[[nodiscard]] Argument text_of(DType dtype);  // "torch.bfloat16"

/// Builds an operator graph in call order and differentiates it as autograd does: each differentiable call puts a step on
/// the tape; the steps run in reverse, and a second gradient for a value is added to the first when it arrives.
class Tape {
 public:
  /// `autocast`: sums accumulate in float32, as on torch.autocast's list of float32 operators.
  Tape(std::string name, bool autocast) : autocast_(autocast) { graph_.name = std::move(name); }
  [[nodiscard]] bool autocast() const { return autocast_; }

  /// Room for so many nodes.
  void reserve(std::size_t nodes);
  /// Parameters, buffers and inputs; before the first call. `trained`: of a parameter, false where it is frozen.
  ValueRef source(graph::NodeKind kind, std::string name, Dims shape, DType dtype, bool trained = true);
  /// Module that the next calls belong to.
  void enter(const std::string& path, std::string_view type);

  /// Appends a call, its results inferred from its operands. The first result is returned.
  template <class... Values>
  ValueRef call(std::string_view target, Values&&... values) {
    return call_with(Keywords(), target, std::forward<Values>(values)...);
  }
  template <class... Values>
  ValueRef call_with(Keywords keywords, std::string_view target, Values&&... values) {
    std::vector<Argument> args;
    args.reserve(sizeof...(values));
    (put(args, std::forward<Values>(values)), ...);
    return append(target, std::move(args), std::move(keywords));
  }

  [[nodiscard]] const TensorType& type(ValueRef value) const { return graph_.type(value); }
  [[nodiscard]] const Dims& shape(ValueRef value) const { return graph_.type(value).shape; }
  [[nodiscard]] DType dtype(ValueRef value) const { return graph_.type(value).dtype; }

  /// True when a gradient flows to this value.
  [[nodiscard]] bool differentiable(ValueRef value) const { return differentiable_[value.node.value]; }
  /// Declares a result differentiable and how its gradient is handed on. Without a differentiable operand, or once the
  /// result gets no gradient, the step does not run.
  void on_backward(ValueRef result, std::initializer_list<ValueRef> operands, std::function<void(ValueRef gradient)> step);
  /// The same for several results (split): the step runs when any of them has a gradient, and asks for each.
  void on_backward_any(NodeId node, std::initializer_list<ValueRef> operands, std::function<void()> step);
  /// The gradient that has arrived for a value, if any.
  [[nodiscard]] std::optional<ValueRef> gradient(ValueRef value);
  /// Hands a gradient to a value (ignored when it is not differentiable).
  void add_gradient(ValueRef value, ValueRef gradient);

  /// Runs the tape from d loss = 1 and gives the finished graph.
  [[nodiscard]] graph::OperatorGraph finish(ValueRef loss, std::int64_t micro_batch, std::int64_t sequence);

 private:
  struct Step {
    NodeId node;
    ModuleId module;
    std::int64_t seq_nr;
    std::function<void()> run;
  };

  /// Where the gradient of a value is kept.
  ValueRef& slot(ValueRef value);
  ValueRef append(std::string_view target, std::vector<Argument> args, Keywords keywords);
  std::string name_for(std::string_view target);
  /// Types of the call's results: those of an earlier call with operands of the same types and the same constants, of which
  /// each layer has the layer before's, or inferred.
  std::vector<TensorType> results_of(const graph::Node& node);
  [[nodiscard]] std::size_t signature(const graph::Node& node) const;
  [[nodiscard]] bool alike(const graph::Node& a, const graph::Node& b) const;
  [[nodiscard]] bool alike(const Argument& a, const Argument& b) const;

  bool autocast_;
  graph::OperatorGraph graph_;
  graph::Phase phase_ = graph::Phase::forward;
  ModuleId module_;
  std::int64_t seq_nr_ = 0;
  std::vector<bool> differentiable_;                             // by node
  std::vector<ValueRef> gradients_;                              // by node: of its first output; invalid: none yet
  std::map<ValueRef, ValueRef> further_gradients_;               // of other outputs
  std::unordered_map<std::string, ModuleId> modules_;
  std::unordered_map<std::string_view, int> names_;              // times an operator's name was given
  std::vector<Step> steps_;
  std::unordered_map<std::size_t, NodeId> inferred_;             // by signature: the last call whose results were inferred
};

}  // namespace sgsim::import::hf
