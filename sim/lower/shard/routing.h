#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {

/// What an operator wants of its operands, in for_each_input order, and how its results lie.
struct Decision {
  std::vector<Placement> wanted, results;
};

/// Operators that route tokens to experts, over ranks that hold parts of each sequence: every rank picks experts for its own tokens, sorts and selects
/// its own rows, and puts its own results back, so that nothing is sent. Rows in the tokens' order are divided within each sample, rows in the
/// experts' order within each expert (balanced routing, as everywhere).
class Routing {
 public:
  Routing(const graph::OperatorGraph& graph, const Mesh& mesh);

  /// Of call `node`, whose operands lie as `have` says; nothing where it does not route, or not so. `lies`: of any value made before (whole: others).
  [[nodiscard]] std::optional<Decision> decide(std::uint32_t node, const std::vector<graph::ValueRef>& operands, const std::vector<Placement>& have,
                                               const std::function<Placement(graph::ValueRef)>& lies) const;

 private:
  [[nodiscard]] Placement other_order(const Placement& rows) const;
  [[nodiscard]] std::optional<Decision> zeros(std::uint32_t node, const std::vector<Placement>& have, const std::function<Placement(graph::ValueRef)>& lies) const;

  const graph::OperatorGraph& graph_;
  const Mesh& mesh_;
  std::int64_t experts_ = 0;            // 0: no product of experts
  std::vector<std::int32_t> reader_;    // first call that reads each node; -1: none
};

/// Experts of the batched products whose weights are parameters; 0: none.
[[nodiscard]] std::int64_t experts_of(const graph::OperatorGraph& graph);

}  // namespace sgsim::lower::shard
