#include "sim/lower/segment/schedule.h"

#include <algorithm>

#include "sim/graph/operators.h"

namespace sgsim::lower::segment {
namespace {

/// The operators of a kernel that do something; all of them when it only moves views about.
std::vector<NodeId> working_nodes(const compile::CompiledGraph& compiled, const compile::Kernel& kernel) {
  std::vector<NodeId> working;
  for (NodeId id : kernel.nodes) {
    const graph::Node& node = compiled.graph.node(id);
    if (node.kind == graph::NodeKind::call && !graph::is_view(node.target)) working.push_back(id);
  }
  return working.empty() ? kernel.nodes : working;
}

}  // namespace

KernelLists list_kernels(const compile::CompiledGraph& compiled, const Cut& cut, const std::vector<bool>& recomputed) {
  KernelLists lists;
  lists.forward.resize(cut.count());
  lists.recompute.resize(cut.count());
  lists.backward.resize(cut.count());
  for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
    const compile::Kernel& kernel = compiled.kernels[k];
    std::uint32_t at = 0;
    bool again = true;
    for (NodeId id : working_nodes(compiled, kernel)) {
      // A forward operator that the partitioner repeats in a backward kernel does not say where the kernel belongs.
      const bool repeated = kernel.phase == graph::Phase::backward && compiled.graph.node(id).phase == graph::Phase::forward;
      again = again && recomputed[id.value];
      if (!repeated) at = std::max(at, cut.position[id.value]);
    }
    lists.position.push_back(at);
    if (kernel.phase == graph::Phase::forward) {
      lists.forward[at].push_back(k);
    } else {
      (again ? lists.recompute : lists.backward)[at].push_back(k);
    }
  }
  return lists;
}

}  // namespace sgsim::lower::segment
