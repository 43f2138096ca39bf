#include "sim/compile/breaks.h"
#include "sim/compile/eager.h"
#include "sim/compile/passes.h"

namespace sgsim::compile {

CompiledGraph compile(const graph::OperatorGraph& graph, Execution execution, Diagnostics& diagnostics) {
  CompiledGraph compiled;
  compiled.graph = graph;
  compiled.execution = execution;
  compiled.kernels = compile_eager(graph, diagnostics);
  return compiled;
}

}  // namespace sgsim::compile
