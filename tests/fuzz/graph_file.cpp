// Graph files: whatever the bytes, a graph that reads back as it is written, or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/graph/graph_file.h"
#include "sim/graph/node_work.h"
#include "sim/graph/operators.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  try {
    const graph::OperatorGraph graph = graph::parse_graph({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const graph::Node& node : graph.nodes) {
      if (node.kind == graph::NodeKind::call) (void)graph::infer(graph, node);
    }
    (void)graph::matmuls_of(graph);
    const std::string text = graph::graph_to_json(graph);
    SGSIM_CHECK(graph::graph_to_json(graph::parse_graph(text, "again")) == text, "a written graph reads back otherwise");
  } catch (const InputError&) {
  }
  return 0;
}
