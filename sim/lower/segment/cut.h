#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/segments.h"

namespace sgsim::lower::segment {

/// Where each node of a graph belongs on the chain before, layer 0, ..., layer n-1, after.
struct Cut {
  std::vector<std::uint32_t> position;  // of each node; parameters, buffers and inputs: of their first reader
  std::vector<std::string> names;       // of each position: "before", module path of the layer, "after"
  bool chain = true;                    // false: no chain of layers was found; everything is one position

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(names.size()); }
  [[nodiscard]] SegmentRole role(std::uint32_t at) const;
};

/// The part of a module path up to its first index: "model.layers.7" of "model.layers.7.mlp.up_proj"; empty when the
/// path has no index. "layer1.0" of a ResNet's "layer1.0.conv2".
[[nodiscard]] std::string layer_path(const std::string& module);

/// Cuts by module paths with an index; layers stand in the order of their first forward node. Nodes outside any layer go
/// by data flow: forward nodes before the first layer or after the last, gradient sums to the layer in which the last
/// term is made. When a forward value is read by an earlier layer than its own, the model is no chain: one position.
[[nodiscard]] Cut cut(const graph::OperatorGraph& graph);

}  // namespace sgsim::lower::segment
