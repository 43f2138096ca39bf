#pragma once

#include <string>
#include <string_view>

#include "sim/graph/graph.h"

namespace sgsim::import {

/// Reads a captured AOTAutograd graph file (*.graph.json, *.graph.json.gz; docs/formats/graph.md) and joins its forward
/// and backward graphs, those of several graph-break segments included, into one training graph: parameters, buffers and
/// inputs first, then forward, then backward from the gradient of the loss (ones_like). Every captured parameter is a node;
/// one that gets no gradient is a buffer. Throws InputError with file and JSON path.
[[nodiscard]] graph::OperatorGraph read_aot_graph(const std::string& path);

/// The same from text in memory (not packed); `file` is for messages.
[[nodiscard]] graph::OperatorGraph parse_aot_graph(std::string_view json, const std::string& file);

}  // namespace sgsim::import
