#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::import::stack {

/// The last layer of a graph's stack of layers, and the four values through which it is chained to the rest.
struct Region {
  std::string container;              // "model.layers"
  std::int64_t index = 0;             // of the last layer
  std::vector<bool> inside;           // by node: belongs to that layer (sources of the layer included)
  graph::ValueRef input, output;      // forward: what the layer reads and gives
  graph::ValueRef output_gradient;    // backward: what it reads
  graph::ValueRef input_gradient;     // and gives
};

/// "model.layers" and 3 of "model.layers.3.mlp"; nothing for a path without a number.
struct LayerPath {
  std::string container;
  std::int64_t index = 0;
};
[[nodiscard]] std::optional<LayerPath> layer_path(const std::string& path);

/// Finds the stack by module paths with an index and its last layer's boundary. Throws InputError when there is no stack,
/// more than one, or a layer that is not chained through one value.
[[nodiscard]] Region find_last_layer(const graph::OperatorGraph& graph);

}  // namespace sgsim::import::stack
