#pragma once

#include <array>
#include <string>
#include <vector>

#include "planner/search/layer_costs.h"

namespace sgsim::search {

/// Dimensions of a plan's ranks.
enum class Dimension : std::uint8_t { tensor, context, data, pipeline };
/// Fastest first: {tensor, context, data, pipeline} puts tensor-parallel neighbours beside each other, as lowering does.
using RankOrder = std::array<Dimension, 4>;
inline constexpr RankOrder kUsualOrder = {Dimension::tensor, Dimension::context, Dimension::data, Dimension::pipeline};

/// GPU of each rank (in lowering's order) when GPUs are counted in `order`; rank r sits on node gpu / gpus_per_node.
[[nodiscard]] std::vector<GpuId> placement_of(const plan::Plan& plan, const RankOrder& order);

/// "tp, dp, pp" : dimensions larger than one, fastest first.
[[nodiscard]] std::string order_text(const plan::Plan& plan, const RankOrder& order);

/// The number of the GPU that a rank gets, counted through the nodes: "tp + 2 dp + 8 pp"; "0" of one rank.
[[nodiscard]] std::string gpu_text(const plan::Plan& plan, const RankOrder& order);

struct PlacementTime {
  RankOrder order = kUsualOrder;
  Seconds step_time;
};

/// Step time of a plan under every order of its dimensions, the usual first, then by time: what a bad placement costs. Groups of one
/// kind are taken to share each node's NICs evenly.
[[nodiscard]] std::vector<PlacementTime> placement_times(const Problem& problem, LayerCostTable& table, const Candidate& candidate);

}  // namespace sgsim::search
