// Operators that become several when they are divided.
#include "sim/lower/shard/dimensions.h"
#include "sim/lower/shard/rewrite.h"

namespace sgsim::lower::shard {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::ValueRef;

/// A row-parallel product with a bias: the bias is added once, after the sum over ranks.
ValueRef Rewriter::bias_after_sum(const Node& node, const Transfer& transfer) {
  const ValueRef bias = provide(*tensor_at(node, 0), transfer.wanted[0], node);
  const ValueRef left = provide(*tensor_at(node, 1), transfer.wanted[1], node);
  const ValueRef right = provide(*tensor_at(node, 2), transfer.wanted[2], node);
  const bool batched = operator_name(node.target) == "baddbmm";
  const ValueRef product = call(batched ? "aten.bmm.default" : "aten.mm.default", {{left}, {right}}, node);
  const Placement& result = transfer.results[0];
  const ValueRef total = result.sharded() ? reduce_scatter(product, result.dim, node) : all_reduce(product, "sum", node);
  return call("aten.add.Tensor", {{total}, {bias}}, node);
}

/// Cross entropy over a divided vocabulary (Megatron-LM, vocab_parallel_cross_entropy): the row maxima and the sums of
/// exponentials are reduced over the ranks.
ValueRef Rewriter::parallel_log_softmax(const Node& node, const Transfer& transfer) {
  const ValueRef x = provide(*tensor_at(node, 0), transfer.wanted[0], node);
  const Argument over{ArgumentList{{std::int64_t{transfer.results[0].dim}}}};
  const ValueRef highest = all_reduce(call("aten.amax.default", {{x}, over, {true}}, node), "max", node);
  const ValueRef shifted = call("aten.sub.Tensor", {{x}, {highest}}, node);
  const ValueRef powers = call("aten.exp.default", {{shifted}}, node);
  const ValueRef total = all_reduce(call("aten.sum.dim_IntList", {{powers}, over, {true}}, node), "sum", node);
  return call("aten.sub.Tensor", {{shifted}, {call("aten.log.default", {{total}}, node)}}, node);
}

/// The target's log probability is on one rank; the others give zero. The loss is then that of one column.
std::vector<ValueRef> Rewriter::parallel_loss(const Node& node, const Transfer& transfer) {
  const ValueRef scores = provide(*tensor_at(node, 0), transfer.wanted[0], node);
  const ValueRef target = provide(*tensor_at(node, 1), transfer.wanted[1], node);
  const ValueRef column = call("aten.unsqueeze.default", {{target}, {std::int64_t{1}}}, node);
  const ValueRef own = call("aten.gather.default", {{scores}, {std::int64_t{1}}, {column}}, node);
  const ValueRef picked = all_reduce(own, "sum", node);
  std::vector<ValueRef> operands = {picked, target};
  for (std::size_t i = 2; i < node.args.size(); ++i) {
    if (const auto weight = tensor_at(node, i)) operands.push_back(mapped(*weight));
  }
  const NodeId loss = append_copy(node, operands, transfer.results);
  std::vector<ValueRef> results;
  for (std::uint32_t o = 0; o < node.outputs.size(); ++o) results.push_back({loss, o});
  return results;
}

}  // namespace sgsim::lower::shard
