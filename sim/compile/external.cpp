#include "sim/compile/external.h"

#include "sim/compile/operator_effects.h"
#include "sim/compile/value_table.h"
#include "sim/core/error.h"
#include "sim/graph/node_work.h"
#include "sim/graph/operators.h"

namespace sgsim::compile {

using graph::MemoryBound;
using graph::MemoryKind;
using graph::OperatorClass;
using graph::ValueRef;

namespace {

MemoryBound moved(const graph::OperatorGraph& graph, const graph::Node& node, MemoryKind kind, double passes) {
  MemoryBound work{.kind = kind, .read = {}, .written = {}, .flops = {}};
  graph::for_each_input(node, [&](ValueRef v) { work.read += touched_bytes(graph.type(v)); });
  for (const auto& type : node.outputs) work.written += touched_bytes(type);
  work.read *= passes;
  work.written *= passes;
  return work;
}

std::string_view convolution_name(graph::ConvolutionPass pass) {
  switch (pass) {
    case graph::ConvolutionPass::forward: return "convolution";
    case graph::ConvolutionPass::input_gradient: return "convolution_input_gradient";
    case graph::ConvolutionPass::weight_gradient: return "convolution_weight_gradient";
  }
  return "convolution";
}

}  // namespace

bool is_external(const graph::Node& node) {
  switch (graph::classify(node.target)) {
    case OperatorClass::matmul:
    case OperatorClass::attention:
    case OperatorClass::convolution: return true;
    default: break;
  }
  const std::string_view name = base_name(node.target);
  return name == "sort" || name == "topk" || name == "nonzero" || name == "searchsorted" || name == "bincount" ||
         name == "histc" || name == "unique_dim" || name == "_unique2";
}

std::vector<NamedWork> external_work(const graph::OperatorGraph& graph, const graph::Node& node) {
  const std::string name(base_name(node.target));
  if (const auto matmul = graph::matmul_of(graph, node)) return {{name, *matmul}};
  if (const auto attention = graph::attention_of(graph, node)) return {{name, *attention}};
  std::vector<NamedWork> works;
  for (const graph::Convolution& convolution : graph::convolutions_of(graph, node))
    works.push_back({std::string(convolution_name(convolution.pass)), convolution});
  if (!works.empty()) return works;
  // sort and topk: a radix sort of 64-bit keys passes over keys and values eight times (CUB onesweep, 8 bits a pass).
  constexpr double kRadixPasses = 8.0;
  return {{name, moved(graph, node, MemoryKind::gather_scatter, name == "sort" ? kRadixPasses : 1.0)}};
}

Communication communication_of(const graph::OperatorGraph& graph, const graph::Node& node) {
  const auto op = graph::collective_of(node.target);
  SGSIM_CHECK(op.has_value(), node.name + " is no collective");
  Communication communication{.op = *op, .group = {}, .bytes = {}};
  for (const graph::Argument& argument : node.args) {
    if (const auto* text = std::get_if<std::string>(&argument.value)) communication.group = *text;  // the last text argument
  }
  if (communication.group.empty())
    throw InputError({.file = graph.name, .where = node.name, .found = node.target + " without a group name",
                      .expected = "a group name as its last text argument", .hint = "name the communicator (\"tp\", \"dp\")"});
  const Bytes read = graph.type(first_input(node)).bytes();
  communication.bytes = *op == graph::CollectiveOp::all_gather ? node.outputs.at(0).bytes() : read;
  return communication;
}

}  // namespace sgsim::compile
