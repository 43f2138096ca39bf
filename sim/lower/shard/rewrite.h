#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/propagate.h"

namespace sgsim::lower::shard {

/// Writes the graph that one rank runs: every operator on its part, with the collectives that its operands' placements
/// ask for.
class Rewriter {
 public:
  Rewriter(const graph::OperatorGraph& graph, const Mesh& mesh, const Plan& plan);
  [[nodiscard]] graph::OperatorGraph run();

 private:
  using Key = std::tuple<graph::ValueRef, Spread, bool, graph::DType, graph::Phase>;

  void copy_source(std::uint32_t id);
  void rewrite_call(std::uint32_t id);
  void finish();

  /// A value of the old graph as `want` asks, for a reader `by`: as it is, sliced, gathered or summed.
  graph::ValueRef provide(graph::ValueRef old, const Placement& want, const graph::Node& by);
  graph::ValueRef gather(graph::ValueRef old, const graph::Node& by);
  graph::ValueRef sum(graph::ValueRef old, const graph::Node& by);
  /// Where a value lies once it is summed over ranks.
  [[nodiscard]] Placement settled(graph::ValueRef old) const;
  /// Sorts what a mixed sum adds into terms still to be summed over ranks and the rest, in order of addition.
  void collect_terms(graph::ValueRef old, std::vector<graph::ValueRef>& terms, std::vector<graph::ValueRef>& rest);
  graph::ValueRef slice(graph::ValueRef value, const Placement& want, const graph::Node& by);
  /// Repeats the views and casts that lead from `from` to `to` in the old graph on `value`, which stands for `from`.
  graph::ValueRef repeat(graph::ValueRef from, graph::ValueRef to, graph::ValueRef value, const Placement& placed, const graph::Node& by);

  // Collectives over the tp group, along any dimension (NCCL gathers and scatters along the first).
  graph::ValueRef all_reduce(graph::ValueRef value, const char* operation, const graph::Node& by);
  graph::ValueRef all_gather(graph::ValueRef value, int dim, const graph::Node& by);
  graph::ValueRef reduce_scatter(graph::ValueRef value, int dim, const graph::Node& by);

  // Operators that become several (rewrite_special.cpp).
  graph::ValueRef bias_after_sum(const graph::Node& node, const Transfer& transfer);
  graph::ValueRef parallel_log_softmax(const graph::Node& node, const Transfer& transfer);
  std::vector<graph::ValueRef> parallel_loss(const graph::Node& node, const Transfer& transfer);

  /// Appends a call; shapes are inferred.
  graph::ValueRef call(std::string target, std::vector<graph::Argument> args, const graph::Node& by);
  graph::ValueRef view(graph::ValueRef value, std::vector<std::int64_t> shape, const graph::Node& by);
  graph::ValueRef cast(graph::ValueRef value, graph::DType dtype, const graph::Node& by);
  /// Appends a copy of an old call that reads `operands` and whose results are placed as given.
  NodeId append_copy(const graph::Node& node, const std::vector<graph::ValueRef>& operands, const std::vector<Placement>& results);
  NodeId append(graph::Node node, const std::vector<graph::TensorType>& fallback);
  [[nodiscard]] graph::ValueRef& mapped(graph::ValueRef old) { return mapped_[plan_.first[old.node.value] + old.output]; }
  [[nodiscard]] const graph::TensorType& type(graph::ValueRef v) const { return out_.nodes[v.node.value].outputs[v.output]; }

  const graph::OperatorGraph& old_;
  const Mesh& mesh_;
  const Plan& plan_;
  graph::OperatorGraph out_;
  std::vector<graph::ValueRef> mapped_;          // of each old value
  std::map<Key, graph::ValueRef> collected_;     // collectives done: of which value, to what
  std::map<std::pair<graph::ValueRef, graph::ValueRef>, graph::ValueRef> repeated_;  // (old value, stand-in of its root)
  int inserted_ = 0;
};

/// Text of the functional collectives of a rank's graph, and of the group that they run over.
inline constexpr const char* kAllReduce = "_c10d_functional.all_reduce.default";
inline constexpr const char* kAllGather = "_c10d_functional.all_gather_into_tensor.default";
inline constexpr const char* kReduceScatter = "_c10d_functional.reduce_scatter_tensor.default";
inline constexpr const char* kTensorGroup = "tp";

}  // namespace sgsim::lower::shard
