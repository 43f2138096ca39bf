#include "sim/lower/program/task_costs.h"

#include <map>
#include <memory>
#include <tuple>

namespace sgsim::lower {
namespace {

cost::LaunchMode mode_of(compile::Execution execution) {
  switch (execution) {
    case compile::Execution::eager: return cost::LaunchMode::eager;
    case compile::Execution::compiled: return cost::LaunchMode::compiled;
    case compile::Execution::cuda_graph: return cost::LaunchMode::cuda_graph;
  }
  return cost::LaunchMode::eager;
}

}  // namespace

TaskCosts profile_costs(const cost::Profile& profile, compile::Execution execution, Diagnostics& diagnostics) {
  using TransferKey = std::tuple<graph::CollectiveOp, Bytes, cluster::GroupShape>;
  auto kernels = std::make_shared<std::map<graph::Work, cost::Estimate>>();
  auto transfers = std::make_shared<std::map<TransferKey, cost::TransferEstimate>>();
  TaskCosts costs;
  costs.kernel = [&profile, &diagnostics, kernels](const graph::Work& work) {
    const auto found = kernels->find(work);
    if (found != kernels->end()) return found->second;
    return kernels->emplace(work, cost::kernel_time(profile, work, diagnostics)).first->second;
  };
  costs.collective = [&profile, &diagnostics, transfers](graph::CollectiveOp op, Bytes bytes, const cluster::GroupShape& group) {
    const TransferKey key{op, bytes, group};
    const auto found = transfers->find(key);
    if (found != transfers->end()) return found->second;
    return transfers->emplace(key, cost::collective_time(profile, op, bytes, group, diagnostics)).first->second;
  };
  costs.interference = [&profile](bool inter_node) { return cost::interference(profile, inter_node); };
  costs.launch = cost::launch_model(profile, mode_of(execution));
  costs.eager = cost::launch_model(profile, cost::LaunchMode::eager);
  return costs;
}

}  // namespace sgsim::lower
