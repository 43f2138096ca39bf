#include "sim/lower/segment/model_flops.h"

#include "sim/graph/node_work.h"
#include "sim/graph/work.h"

namespace sgsim::lower::segment {

Flops model_flops(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<std::uint32_t>& times) {
  Flops sum;
  const auto repeats = [&](NodeId node) { return static_cast<double>(times[cut.position[node.value]]); };
  for (const auto& product : graph::matmuls_of(graph)) sum += repeats(product.node) * graph::flops_of(product.work);
  for (const auto& convolution : graph::convolutions_of(graph)) sum += repeats(convolution.node) * graph::flops_of(convolution.work);
  for (const auto& attention : graph::attentions_of(graph)) {
    graph::Attention forward = attention.work;
    const double passes = forward.pass == graph::Pass::backward ? 2.0 : 1.0;
    forward.pass = graph::Pass::forward;
    sum += passes * repeats(attention.node) * graph::flops_of(forward);
  }
  return sum;
}

}  // namespace sgsim::lower::segment
