#include "sim/lower/shard/draft.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::ValueRef;

Argument sizes_argument(const std::vector<std::int64_t>& sizes) {
  ArgumentList list;
  for (std::int64_t size : sizes) list.push_back({size});
  return {std::move(list)};
}

Draft::Draft(const graph::OperatorGraph& old, std::string prefix) : prefix_(std::move(prefix)) {
  out.name = old.name;
  out.modules = old.modules;
  out.module_types = old.module_types;
  out.micro_batch = old.micro_batch;
  out.sequence = old.sequence;
}

NodeId Draft::append(Node node) {
  out.nodes.push_back(std::move(node));
  return NodeId{static_cast<std::uint32_t>(out.nodes.size() - 1)};
}

NodeId Draft::append_inferred(Node node) {
  auto inferred = graph::infer(out, node);
  SGSIM_CHECK(inferred.has_value(), "no shapes for " + node.target + " (" + node.name + ")");
  node.outputs = std::move(*inferred);
  return append(std::move(node));
}

ValueRef Draft::call(std::string target, std::vector<Argument> args, const Node& by) {
  Node node;
  node.name = prefix_ + std::to_string(inserted_++) + "_" + std::string(operator_name(target));
  node.target = std::move(target);
  node.args = std::move(args);
  node.module = by.module;
  node.phase = by.phase;
  node.seq_nr = by.seq_nr;
  return {append_inferred(std::move(node)), 0};
}

ValueRef Draft::view(ValueRef x, const std::vector<std::int64_t>& to, const Node& by) {
  return shape(x) == to ? x : call("aten.view.default", {{x}, sizes_argument(to)}, by);
}

ValueRef Draft::slice(ValueRef x, int dim, std::int64_t start, std::int64_t end, const Node& by) {
  if (start == 0 && end == shape(x).at(static_cast<std::size_t>(dim))) return x;
  return call("aten.slice.Tensor", {{x}, {std::int64_t{dim}}, {start}, {end}}, by);
}

ValueRef Draft::join(ValueRef a, ValueRef b, int dim, const Node& by) {
  return call("aten.cat.default", {{ArgumentList{{a}, {b}}}, {std::int64_t{dim}}}, by);
}

ValueRef Draft::cast(ValueRef x, graph::DType dtype, const Node& by) {
  if (type(x).dtype == dtype) return x;
  const ValueRef result = call("aten._to_copy.default", {{x}}, by);
  Node& node = out.nodes[result.node.value];
  node.kwargs["dtype"] = {"torch." + std::string(graph::to_text(dtype))};
  node.outputs[0].dtype = dtype;
  return result;
}

}  // namespace sgsim::lower::shard
