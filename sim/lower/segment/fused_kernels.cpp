#include "sim/lower/segment/fused_kernels.h"

#include <utility>

#include "sim/compile/passes.h"
#include "sim/lower/segment/compile_apart.h"
#include "sim/lower/segment/schedule.h"

namespace sgsim::lower::segment {
namespace {

int operators_of(const std::vector<compile::Kernel>& kernels, const std::vector<std::uint32_t>& list) {
  int operators = 0;
  for (std::uint32_t k : list) {
    if (!kernels[k].is_communication) operators += kernels[k].host_operators;
  }
  return operators;
}

/// Shares `operators` out evenly over the kernels of a list, the remainder over the first.
void share_out(std::vector<compile::Kernel>& kernels, const std::vector<std::uint32_t>& list, int operators) {
  std::vector<std::uint32_t> launched;
  for (std::uint32_t k : list) {
    if (!kernels[k].is_communication) launched.push_back(k);
  }
  const int count = static_cast<int>(launched.size());
  for (int i = 0; i < count; ++i) kernels[launched[static_cast<std::size_t>(i)]].host_operators = operators / count + (i < operators % count ? 1 : 0);
}

}  // namespace

compile::CompiledGraph compile_fused_kernels(const graph::OperatorGraph& graph, const Cut& cut, const std::vector<bool>& recomputed,
                                             Diagnostics& diagnostics) {
  std::vector<compile::Execution> execution(cut.count(), compile::Execution::compiled);
  execution.front() = execution.back() = compile::Execution::eager;
  compile::CompiledGraph fused = compile_apart(graph, cut, execution, diagnostics);
  const compile::CompiledGraph eager = compile::compile(graph, compile::Execution::eager, diagnostics);
  const KernelLists now = list_kernels(fused, cut, recomputed), then = list_kernels(eager, cut, recomputed);
  for (std::uint32_t at = 0; at < cut.count(); ++at) {
    share_out(fused.kernels, now.forward[at], operators_of(eager.kernels, then.forward[at]));
    share_out(fused.kernels, now.recompute[at], operators_of(eager.kernels, then.recompute[at]));
    share_out(fused.kernels, now.backward[at], operators_of(eager.kernels, then.backward[at]));
  }
  fused.execution = compile::Execution::eager;
  return fused;
}

}  // namespace sgsim::lower::segment
