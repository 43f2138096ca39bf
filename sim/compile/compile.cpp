#include "sim/compile/compilation.h"

#include <chrono>
#include <utility>

#include "sim/compile/breaks.h"
#include "sim/compile/eager.h"
#include "sim/compile/fuse/decompose.h"
#include "sim/compile/fuse/deduplicate.h"
#include "sim/compile/fuse/emit.h"
#include "sim/compile/fuse/fuse.h"
#include "sim/compile/fuse/loops.h"
#include "sim/compile/fuse/partition.h"
#include "sim/compile/value_table.h"

namespace sgsim::compile {

namespace {

/// Times stage after stage.
class Stages {
 public:
  explicit Stages(std::vector<PassReport>& reports) : reports_(reports) {}

  template <class Run>
  auto run(std::string name, bool enabled, std::size_t before, Run&& stage) {
    const auto start = std::chrono::steady_clock::now();
    auto result = stage();
    const Seconds time(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    reports_.push_back({.name = std::move(name), .ran = enabled, .time = time, .verify_time = {}, .before = before, .after = before});
    return result;
  }
  void after(std::size_t count) { reports_.back().after = count; }

 private:
  std::vector<PassReport>& reports_;
};

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> same(n);
  for (std::size_t i = 0; i < n; ++i) same[i] = static_cast<std::uint32_t>(i);
  return same;
}

std::vector<Kernel> compile_fused(const graph::OperatorGraph& graph, const CompileOptions& options, Diagnostics& diagnostics,
                                  std::vector<PassReport>& reports) {
  Stages stages(reports);
  const OperatorTable operators(graph);
  const ValueTable table(graph, operators);
  const std::size_t nodes = graph.nodes.size();
  const BrokenGraph broken = stages.run("graph breaks", true, nodes, [&] { return find_breaks(graph); });
  for (const GraphBreak& b : broken.breaks) diagnostics.add("compile.graph_break", Severity::info, b.text);
  const auto same_as = stages.run("common subexpressions", options.common_subexpressions, nodes, [&] {
    return options.common_subexpressions ? fuse::same_computation(graph, operators) : identity(nodes);
  });
  const auto live = stages.run("dead code", true, nodes, [&] { return fuse::live_nodes(graph, operators, same_as); });
  const fuse::Program program = stages.run("decompose", true, nodes, [&] {
    return fuse::decompose(graph, operators, table, broken, same_as, live, diagnostics);
  });
  stages.after(program.ops.size());
  const fuse::Users users = fuse::users_of(program);
  const fuse::Partition partition = stages.run("partition", options.recompute, program.ops.size(), [&] {
    return fuse::partition(program, users, options.recompute);
  });
  fuse::LoopProgram loops = stages.run("loop nests", true, program.ops.size(), [&] {
    return fuse::build_loops(program, users, partition,
                             {.inline_values = options.inline_values, .split_reductions = options.split_reductions});
  });
  stages.after(loops.nests.size());
  const auto groups = stages.run("fuse", options.fuse, loops.nests.size(), [&] { return fuse::fuse(loops, options.fuse); });
  stages.after(groups.size());
  auto kernels = stages.run("emit", true, groups.size(), [&] { return fuse::emit(graph, operators, program, loops, groups); });
  stages.after(kernels.size());
  return kernels;
}

}  // namespace

Compilation compile(const graph::OperatorGraph& graph, Execution execution, const CompileOptions& options) {
  Compilation result;
  result.compiled.execution = execution;
  result.compiled.kernels = execution == Execution::eager ? compile_eager(graph, result.diagnostics)
                                                          : compile_fused(graph, options, result.diagnostics, result.reports);
  result.compiled.graph = graph;
  return result;
}

std::vector<Kernel> kernels_of(const graph::OperatorGraph& graph, Execution execution, Diagnostics& diagnostics) {
  std::vector<PassReport> reports;
  return execution == Execution::eager ? compile_eager(graph, diagnostics) : compile_fused(graph, CompileOptions{}, diagnostics, reports);
}

CompiledGraph compile(const graph::OperatorGraph& graph, Execution execution, Diagnostics& diagnostics) {
  Compilation result = compile(graph, execution, CompileOptions{});
  diagnostics.merge(result.diagnostics);
  return std::move(result.compiled);
}

}  // namespace sgsim::compile
