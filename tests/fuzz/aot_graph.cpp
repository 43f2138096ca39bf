// Captured graphs: whatever the bytes, a graph or an InputError.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/graph/node_work.h"
#include "sim/graph/operators.h"
#include "sim/import/aot/aot.h"
#include "sim/import/hf_config/hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  constexpr std::size_t kLimit = std::size_t{16} << 20;  // unpacked
  try {
    const std::string text = unpack_gzip({reinterpret_cast<const char*>(data), size}, "fuzz", kLimit);
    const graph::OperatorGraph graph = import::parse_aot_graph(text, "fuzz");
    for (const graph::Node& node : graph.nodes) {
      if (node.kind == graph::NodeKind::call) (void)graph::infer(graph, node);
    }
    (void)graph::matmuls_of(graph);
    (void)graph::attentions_of(graph);
    (void)graph::convolutions_of(graph);
    (void)import::stack_layers(graph, 3);
  } catch (const InputError&) {
  }
  return 0;
}
