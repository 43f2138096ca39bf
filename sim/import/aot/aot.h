#pragma once

#include <string>

#include "sim/graph/graph.h"

namespace sgsim::import {

/// Reads a captured AOTAutograd graph file (*.graph.json, *.graph.json.gz; docs/formats/graph.md) and joins its forward
/// and backward graphs. Throws InputError with file and JSON path.
[[nodiscard]] graph::OperatorGraph read_aot_graph(const std::string& path);

}  // namespace sgsim::import
