#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/placement.h"
#include "sim/lower/shard/weights.h"

namespace sgsim::lower::shard {

/// How an operator changes beyond the sizes of its operands.
enum class Rewrite : std::uint8_t {
  none,
  bias_after_sum,       // a row-parallel product: product, sum over ranks, bias
  sum_at_once,          // the partial result is summed where it is made
  parallel_log_softmax, // maxima and sums of exponentials are reduced over ranks (vocabulary-parallel cross entropy)
  parallel_loss,        // the target's logit is on one rank: picked and summed over ranks
};

struct Operand {
  graph::ValueRef value;
  std::size_t position = 0;  // positional argument that it stands in; past the last for keyword arguments
  Placement have;
};

/// What an operator wants of its operands, in for_each_input order, and what its results are.
struct Transfer {
  std::vector<Placement> wanted;
  std::vector<Placement> results;
  Rewrite rewrite = Rewrite::none;
};

/// Choices of a propagation that rules read and add to.
struct Choices {
  Weights weights;
  std::set<NodeId> columns;       // column-parallel products
  std::set<NodeId> kept_whole;    // products that may not be column-parallel: their result is needed whole
  bool parallel_lookup = false;   // the embedding is divided over the vocabulary
  std::vector<std::uint32_t> readers;  // of each node: operators that read it
  std::vector<bool> trained;      // by node: depends on a parameter
};

/// The placement of an operator's results for its operands' placements. Nothing when the operator cannot work on operands
/// divided as they are. `choices` gets the decisions on the weights that it meets for the first time.
[[nodiscard]] std::optional<Transfer> transfer(const graph::OperatorGraph& graph, NodeId id, const std::vector<Operand>& operands,
                                               const Mesh& mesh, Choices& choices);

/// Parts of it by kind of operator.
[[nodiscard]] std::optional<Transfer> transfer_product(const graph::OperatorGraph& graph, NodeId id, const std::vector<Operand>& operands,
                                                       const Mesh& mesh, Choices& choices);
[[nodiscard]] std::optional<Transfer> transfer_elementwise(const graph::OperatorGraph& graph, const graph::Node& node,
                                                           const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices);
[[nodiscard]] std::optional<Transfer> transfer_attention(const graph::OperatorGraph& graph, const graph::Node& node,
                                                         const std::vector<Operand>& operands, const Mesh& mesh);
[[nodiscard]] std::optional<Transfer> transfer_norm(const graph::OperatorGraph& graph, const graph::Node& node,
                                                    const std::vector<Operand>& operands, const Mesh& mesh);
[[nodiscard]] std::optional<Transfer> transfer_lookup(const graph::OperatorGraph& graph, const graph::Node& node,
                                                      const std::vector<Operand>& operands, const Mesh& mesh, Choices& choices);
[[nodiscard]] std::optional<Transfer> transfer_loss(const graph::OperatorGraph& graph, const graph::Node& node,
                                                    const std::vector<Operand>& operands, const Mesh& mesh);

}  // namespace sgsim::lower::shard
