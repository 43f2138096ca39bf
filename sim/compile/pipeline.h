#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/core/quantity.h"
#include "sim/graph/graph.h"

namespace sgsim::compile {

/// One pass over the operator graph: takes a graph, gives the graph that stands for it.
struct Pass {
  std::string name;  // "autocast"; the name a user switches it off by
  std::function<graph::OperatorGraph(graph::OperatorGraph)> run;
  bool enabled = true;
};

/// What one pass (or one stage of `compile`) did.
struct PassReport {
  std::string name;
  bool ran = false;         // false: switched off
  Seconds time;             // of the pass alone
  Seconds verify_time;      // of the verification after it
  std::size_t before = 0, after = 0;  // nodes (stages of `compile`: operators, buffers or kernels)
};

struct PipelineResult {
  graph::OperatorGraph graph;
  std::vector<PassReport> reports;
};

/// Runs the passes in order and verifies the graph after each. A graph that is unsound before the first pass throws
/// InputError with its first problems; a pass that breaks it throws InternalError with the pass's name.
[[nodiscard]] PipelineResult run_passes(graph::OperatorGraph graph, const std::vector<Pass>& passes);

/// One line a pass: name, nodes before and after, time, "off" where it was switched off.
[[nodiscard]] std::string to_text(const std::vector<PassReport>& reports);

/// Drops calls whose results nothing needs (no graph output, no gradient, no mutation). Ids change.
[[nodiscard]] graph::OperatorGraph remove_dead_nodes(graph::OperatorGraph graph);

}  // namespace sgsim::compile
