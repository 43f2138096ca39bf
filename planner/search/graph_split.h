#pragma once

#include <cstddef>
#include <string>

#include "planner/search/problem.h"
#include "planner/split/pipeline_split.h"
#include "planner/split/unit_split.h"

namespace sgsim::search {

/// A compiled graph as runs of kernels of one module, in launch order of the forward pass: time of both passes, parameters with their gradients and
/// optimizer state (undivided), what is kept for the backward pass, and the values handed on. Module paths are cut where more than
/// `most_runs` runs would come out.
[[nodiscard]] split::WorkGraph work_graph_of(const scenario::Scenario& scenario, const scenario::Inputs& inputs, std::size_t most_runs);

/// The scenario's model, on one GPU a stage, as `stages` pipeline stages on neighbouring GPUs of its cluster, and the FSDP units of its layers on
/// all GPUs: a page of text.
[[nodiscard]] std::string split_text(const scenario::Scenario& scenario, const scenario::Inputs& inputs, int stages);

}  // namespace sgsim::search
