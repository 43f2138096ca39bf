#include "sim/lower/program/task_costs.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sim/cost/profile.h"

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

/// The values of all `names`, or nothing where one is missing.
template <class Map>
std::optional<std::vector<double>> all_of(const Map& map, const std::string& prefix, std::initializer_list<const char*> names) {
  std::vector<double> values;
  for (const char* name : names) {
    const auto found = map.find(prefix + name);
    if (found == map.end()) return std::nullopt;
    if constexpr (std::is_same_v<std::decay_t<decltype(found->second.value)>, Seconds>) {
      values.push_back(found->second.value.value());
    } else {
      values.push_back(found->second.value);
    }
  }
  return values;
}

std::optional<ClassInterference> class_interference_of(const cost::Profile& profile) {
  const auto c = all_of(profile.factors, "interference.intra_node.compute.", {"matmul", "attention", "memory_bound"});
  const auto t = all_of(profile.factors, "interference.intra_node.transfer.", {"matmul", "attention", "memory_bound"});
  if (!c || !t) return std::nullopt;
  return ClassInterference{.product = {(*c)[0], (*t)[0]}, .attention = {(*c)[1], (*t)[1]}, .memory_bound = {(*c)[2], (*t)[2]}};
}

}  // namespace

std::optional<TensorWrapper> dtensor_costs(const cost::Profile& profile) {
  const auto v = all_of(profile.times, "host.pytorch.dtensor.", {"forward", "backward", "collective", "optimizer_loop", "optimizer_fused"});
  if (!v) return std::nullopt;
  return TensorWrapper{.forward = Seconds((*v)[0]), .backward = Seconds((*v)[1]), .collective = Seconds((*v)[2]), .optimizer_loop = Seconds((*v)[3]), .optimizer_fused = Seconds((*v)[4])};
}

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
  costs.power = cost::power_model(profile);
  costs.beside = class_interference_of(profile);
  return costs;
}

}  // namespace sgsim::lower
