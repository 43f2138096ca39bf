// Reads a captured file and prints what the capture test compares, one fact a line; every flaw is a line too.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/core/error.h"
#include "sim/graph/node_work.h"
#include "sim/import/aot/aot.h"
#include "sim/import/hf_config/hf_config.h"
#include "tests/unit/import/soundness.h"

namespace {

using namespace sgsim;

void print_facts(const graph::OperatorGraph& graph) {
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::NodeKind::parameter) std::printf("parameter %s %s\n", node.name.c_str(), to_text(node.outputs[0]).c_str());
    if (node.kind == graph::NodeKind::buffer) std::printf("buffer %s %s\n", node.name.c_str(), to_text(node.outputs[0]).c_str());
    if (node.kind == graph::NodeKind::input) std::printf("input %s %s\n", node.name.c_str(), to_text(node.outputs[0]).c_str());
  }
  for (const auto& [node, phase, work] : graph::matmuls_of(graph)) {
    const ModuleId module = graph.node(node).module;
    std::printf("matmul %s %ld %ld %ld %ld %s\n", phase == graph::Phase::forward ? "forward" : "backward", static_cast<long>(work.batch),
                static_cast<long>(work.m), static_cast<long>(work.n), static_cast<long>(work.k),
                module.valid() ? graph.modules[module.value].c_str() : "?");
  }
  for (const auto& [node, phase, work] : graph::attentions_of(graph)) {
    std::printf("attention %s heads %ld length %ld size %ld causal %d mask %d\n", phase == graph::Phase::forward ? "forward" : "backward",
                static_cast<long>(work.heads), static_cast<long>(work.q_len), static_cast<long>(work.head_dim), work.causal, work.dense_mask);
  }
  std::printf("convolutions %zu\n", graph::convolutions_of(graph).size());
  std::printf("gradients %zu\n", graph.gradients.size());
  std::printf("batch %ld sequence %ld\n", static_cast<long>(graph.micro_batch), static_cast<long>(graph.sequence));
  for (const std::string& flaw : import::test::flaws_of(graph, false)) std::printf("flaw %s\n", flaw.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  try {
    graph::OperatorGraph graph = import::read_aot_graph(argv[1]);
    if (argc == 3) graph = import::stack_layers(graph, std::atoi(argv[2]));
    print_facts(graph);
  } catch (const InputError& error) {
    std::printf("%s\n", error.what());
    return static_cast<int>(ExitCode::bad_input);
  }
  return 0;
}
