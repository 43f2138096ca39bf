#pragma once

#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::lower::segment {

/// Follows values through views to what owns the memory.
class Storage {
 public:
  explicit Storage(const graph::OperatorGraph& graph);
  /// The value whose memory `v` looks at; `v` itself when it is no view.
  [[nodiscard]] graph::ValueRef owner(graph::ValueRef v) const;

 private:
  std::vector<graph::ValueRef> base_;  // of each node: what a view looks at; the node itself otherwise
};

/// For each node: whether its results depend on a trained tensor (so that a gradient flows through them).
[[nodiscard]] std::vector<bool> depends_on_parameters(const graph::OperatorGraph& graph);

}  // namespace sgsim::lower::segment
