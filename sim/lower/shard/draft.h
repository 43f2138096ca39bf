#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::lower::shard {

/// A graph that a pass is writing: operators appended with inferred shapes, each with the module, phase and sequence number
/// of the old operator that it stands for.
class Draft {
 public:
  /// `prefix`: of the names of operators that are new.
  Draft(const graph::OperatorGraph& old, std::string prefix);

  graph::ValueRef call(std::string target, std::vector<graph::Argument> args, const graph::Node& by);
  graph::ValueRef view(graph::ValueRef x, const std::vector<std::int64_t>& shape, const graph::Node& by);
  graph::ValueRef slice(graph::ValueRef x, int dim, std::int64_t start, std::int64_t end, const graph::Node& by);
  graph::ValueRef join(graph::ValueRef a, graph::ValueRef b, int dim, const graph::Node& by);
  graph::ValueRef cast(graph::ValueRef x, graph::DType dtype, const graph::Node& by);
  /// Appends a node whose results are known.
  NodeId append(graph::Node node);
  /// Appends a call whose results are inferred; SGSIM_CHECKs that they can be.
  NodeId append_inferred(graph::Node node);

  [[nodiscard]] const graph::TensorType& type(graph::ValueRef v) const { return out.nodes[v.node.value].outputs[v.output]; }
  [[nodiscard]] const std::vector<std::int64_t>& shape(graph::ValueRef v) const { return type(v).shape; }

  graph::OperatorGraph out;

 private:
  std::string prefix_;
  int inserted_ = 0;
};

/// A list of sizes as an argument.
[[nodiscard]] graph::Argument sizes_argument(const std::vector<std::int64_t>& sizes);

}  // namespace sgsim::lower::shard
