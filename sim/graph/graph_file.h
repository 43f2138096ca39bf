#pragma once

#include <string>
#include <string_view>

#include "sim/graph/graph.h"

namespace sgsim::graph {

/// Version of the graph file that this program writes and reads (docs/formats/graph.md).
inline constexpr int kGraphFileVersion = 1;

/// Writes a graph file; packed where the path ends in ".gz". Throws EnvironmentError.
void write_graph(const OperatorGraph& graph, const std::string& path);
[[nodiscard]] std::string graph_to_json(const OperatorGraph& graph);

/// Reads a graph file. Throws InputError with file and JSON path: wrong version, unknown keys, names that do not occur or
/// occur twice, references that do not point backwards.
[[nodiscard]] OperatorGraph read_graph(const std::string& path);
[[nodiscard]] OperatorGraph parse_graph(std::string_view json, const std::string& file);

/// One line a node, for tests and for reading:
///   mm_3 = aten.mm.default(view_10, t_3) -> bfloat16[4096, 8192]  # model.layers.0.self_attn.o_proj backward
[[nodiscard]] std::string to_text(const OperatorGraph& graph);

}  // namespace sgsim::graph
