#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/quantity.h"
#include "sim/graph/dtype.h"

namespace sgsim::graph {

/// A tensor's shape, element type and strides (in elements; empty means contiguous).
struct TensorType {
  std::vector<std::int64_t> shape;
  DType dtype = DType::float32;
  std::vector<std::int64_t> stride;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] Bytes bytes() const;
  bool operator==(const TensorType&) const = default;
};

/// Output `output` of node `node` (nodes with several results have several outputs; there are no getitem nodes).
struct ValueRef {
  NodeId node;
  std::uint32_t output = 0;
  auto operator<=>(const ValueRef&) const = default;
};

struct Argument;
using ArgumentList = std::vector<Argument>;
/// One positional or keyword argument of an operator: a value, a constant, nothing, or a list of them.
struct Argument {
  std::variant<std::monostate, ValueRef, std::int64_t, double, bool, std::string, ArgumentList> value;
  bool operator==(const Argument&) const = default;
};

enum class Phase : std::uint8_t { forward, backward, optimizer };

/// What a node stands for.
enum class NodeKind : std::uint8_t {
  parameter,  // a trained tensor; `name` is its qualified name
  buffer,     // an untrained tensor of the model (rotary frequencies, batch-norm statistics)
  input,      // a batch tensor (token ids, labels, images)
  call,       // an operator, `target` is its aten name with overload ("aten.mm.default")
};

struct Node {
  NodeKind kind = NodeKind::call;
  std::string name;    // unique in the graph
  std::string target;  // "aten.mm.default", "_c10d_functional.all_reduce.default"; empty unless kind is call
  std::vector<Argument> args;
  std::map<std::string, Argument> kwargs;
  std::vector<TensorType> outputs;
  ModuleId module;  // of OperatorGraph::modules; invalid when unknown
  Phase phase = Phase::forward;
  std::optional<std::int64_t> seq_nr;  // autograd sequence number, ties backward nodes to their forward node

  bool operator==(const Node&) const = default;
};

/// Aten-level operators of one training step of one micro-batch on one device: forward, then backward, in one
/// graph; nodes stand in topological order (every reference points backwards). NodeId is the index in `nodes`.
struct OperatorGraph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::string> modules;          // dotted module paths ("model.layers.0.self_attn.q_proj"), "" is the root
  std::vector<std::string> module_types;     // class name of each ("Linear"), same length
  std::vector<ValueRef> outputs;             // forward results (the loss first)
  std::map<NodeId, ValueRef> gradients;      // parameter node -> its gradient value; a parameter without one is frozen (unless none has)
  std::int64_t micro_batch = 1;              // samples in the batch dimension
  std::int64_t sequence = 0;                 // tokens a sample; 0 for images

  [[nodiscard]] const Node& node(NodeId id) const { return nodes[id.value]; }
  [[nodiscard]] const TensorType& type(ValueRef v) const { return nodes[v.node.value].outputs[v.output]; }
  bool operator==(const OperatorGraph&) const = default;
};

/// Calls `visit(ValueRef)` for each value a node reads, in argument order, lists and kwargs included.
template <class Visit>
void for_each_input(const Argument& argument, Visit&& visit) {
  if (const auto* ref = std::get_if<ValueRef>(&argument.value)) visit(*ref);
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& item : *list) for_each_input(item, visit);
  }
}
template <class Visit>
void for_each_input(const Node& node, Visit&& visit) {
  for (const Argument& argument : node.args) for_each_input(argument, visit);
  for (const auto& [key, argument] : node.kwargs) for_each_input(argument, visit);
}

}  // namespace sgsim::graph
