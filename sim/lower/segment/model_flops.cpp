#include "sim/lower/segment/model_flops.h"

#include "sim/graph/node_work.h"
#include "sim/graph/work.h"

namespace sgsim::lower::segment {

namespace {

/// A product over scores of each query and key of a sample: q k^T, p v, and their gradients.
bool over_scores(const graph::OperatorGraph& graph, const graph::Matmul& m, std::int64_t heads) {
  if (heads == 0 || m.batch != graph.micro_batch * heads) return false;
  return (m.m == graph.sequence && (m.n == graph.sequence || m.k == graph.sequence)) || (m.n == graph.sequence && m.k == graph.sequence);
}

/// Share of a square of scores that lies above its diagonal.
double above_diagonal(std::int64_t sequence) {
  const auto n = static_cast<double>(sequence);
  return (n - 1.0) / (2.0 * n);
}

}  // namespace

ModelFlops model_flops(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<std::uint32_t>& times, std::int64_t heads) {
  ModelFlops sum;
  const auto repeats = [&](NodeId node) { return static_cast<double>(times[cut.position[node.value]]); };
  for (const auto& product : graph::matmuls_of(graph)) {
    const Flops flops = repeats(product.node) * graph::flops_of(product.work);
    sum.total += flops;
    if (over_scores(graph, product.work, heads)) sum.above_diagonal += above_diagonal(graph.sequence) * flops;
  }
  for (const auto& convolution : graph::convolutions_of(graph)) sum.total += repeats(convolution.node) * graph::flops_of(convolution.work);
  for (const auto& attention : graph::attentions_of(graph)) {
    graph::Attention forward = attention.work;
    const double passes = forward.pass == graph::Pass::backward ? 2.0 : 1.0;
    forward.pass = graph::Pass::forward;
    const Flops flops = passes * repeats(attention.node) * graph::flops_of(forward);
    sum.total += flops;
    if (forward.causal) continue;
    forward.causal = true;
    sum.above_diagonal += flops - passes * repeats(attention.node) * graph::flops_of(forward);
  }
  return sum;
}

}  // namespace sgsim::lower::segment
