#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/problem.h"
#include "planner/split/pipeline_split.h"
#include "planner/split/unit_split.h"

namespace sgsim::search {

/// A compiled graph as runs of kernels of one module, in launch order of the forward pass: time of both passes, parameters with the gradients and
/// optimizer state of those that are trained (undivided), what is kept for the backward pass, and the values handed on. Module paths are cut where more than
/// `most_runs` runs would come out.
[[nodiscard]] split::WorkGraph work_graph_of(const scenario::Scenario& scenario, const scenario::Inputs& inputs, std::size_t most_runs);

/// FSDP units of a model over all GPUs of a cluster.
struct ModelUnits {
  int gpus = 1;
  std::vector<std::string> names;          // of the runs that units are made of, by the index of `split`
  std::optional<split::UnitSplit> split;   // nothing: two neighbouring runs take more than a quarter of the memory
};

/// A model cut into pipeline stages, one GPU each, and into FSDP units.
struct ModelSplit {
  int stages = 1;
  double overlap_share = 0.7;              // a cut overlaps while max(communication, computation) is at most this share of their sum
  Bytes gpu_memory;
  split::WorkGraph graph;                  // what was cut
  std::vector<split::Link> links;          // between neighbouring stages
  std::vector<bool> between_nodes;         // whether they lie in two nodes
  std::optional<split::Split> split;       // nothing: too few runs for so many stages
  bool fits = true;                        // each stage in a GPU's memory; false: no split does, and `split` is the one without that limit
  std::optional<ModelUnits> units;         // nothing: one GPU
};

/// The scenario's model, on one GPU a stage, as `stages` pipeline stages on neighbouring GPUs of its cluster, and the FSDP units of its layers on all GPUs.
/// Throws InputError for more stages than GPUs.
[[nodiscard]] ModelSplit split_model(const scenario::Scenario& scenario, const scenario::Inputs& inputs, int stages, double overlap_share);

/// A page that a person reads, and the same for scripts (docs/planning.md).
[[nodiscard]] std::string split_text(const ModelSplit& split);
[[nodiscard]] std::string split_json(const ModelSplit& split, const std::string& scenario_file);

}  // namespace sgsim::search
