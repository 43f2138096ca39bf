#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/placement.h"

namespace sgsim::lower::shard {

/// Parameters and what is only another look at or a cast of one (weight.to(bf16).t()), and how each parameter is divided:
/// undecided (whole) until the first product that reads it decides.
class Weights {
 public:
  explicit Weights(const graph::OperatorGraph& graph);

  /// The parameter that a value is a look at or a cast of; nothing for other values.
  [[nodiscard]] std::optional<NodeId> parameter(graph::ValueRef v) const;
  /// Of such a value.
  [[nodiscard]] Placement placement(graph::ValueRef v) const;
  [[nodiscard]] bool decided(NodeId parameter) const { return decided_[parameter.value]; }
  /// Divides the parameter so that dimension `dim` of its look `v` is divided as `placement` says.
  void decide(graph::ValueRef v, const Placement& placement);
  [[nodiscard]] const Placement& of(NodeId parameter) const { return placements_[parameter.value]; }
  void forget_decisions();

 private:
  struct Look {
    std::uint32_t parameter = 0;
    std::vector<int> dims;  // of the look: which dimension of the parameter each is; empty when this is no look
    bool valid = false;
  };
  std::vector<Look> looks_;            // by node
  std::vector<Placement> placements_;  // by node, parameters only
  std::vector<bool> decided_;
};

}  // namespace sgsim::lower::shard
