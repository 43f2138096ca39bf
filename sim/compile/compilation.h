#pragma once

#include <vector>

#include "sim/compile/kernel.h"
#include "sim/compile/passes.h"
#include "sim/compile/pipeline.h"
#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// Switches of the stages of `compile` (compiled and cuda_graph execution). All on is what torch.compile does.
struct CompileOptions {
  bool common_subexpressions = true;  // equal operators run once
  bool recompute = true;              // min-cut partitioner; off: every value that a backward operator reads is saved
  bool inline_values = true;          // cheap values are computed inside their readers
  bool split_reductions = true;       // long reductions to few results run in several kernels
  bool fuse = true;
};

/// A compiled graph and how it came about.
struct Compilation {
  CompiledGraph compiled;
  std::vector<PassReport> reports;  // one a stage; empty for eager execution
  Diagnostics diagnostics;
};

[[nodiscard]] Compilation compile(const graph::OperatorGraph& graph, Execution execution, const CompileOptions& options);

}  // namespace sgsim::compile
