#pragma once

#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"
#include "sim/import/fx_text/fx_text.h"
#include "sim/import/fx_text/python_text.h"

namespace sgsim::import::torch_trace {

/// One compiled region: its forward graph and its backward graph as printed.
struct Pair {
  std::string name;                                    // "[0/1]"
  fx_text::Function forward, backward;
  std::vector<fx_text::Placeholder> placeholders;      // of the forward graph, where Dynamo's names tell; else empty
};

/// One training graph of all regions of a rank, joined as captures are (sim/import/aot). Placeholders that Dynamo names
/// parameters, or without its names all that get a gradient, are parameters. Throws InputError where parts do not fit.
[[nodiscard]] graph::OperatorGraph join_pairs(const std::vector<Pair>& pairs, const std::string& file);

/// "L_self_modules_lin1_parameters_weight_" -> "lin1.weight".
[[nodiscard]] std::string parameter_name(std::string_view dynamo);

}  // namespace sgsim::import::torch_trace
