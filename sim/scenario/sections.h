#pragma once

#include <string>

#include "sim/scenario/json_reader.h"
#include "sim/scenario/scenario.h"

/// The parts of a scenario file; each reads its own section and decides its own defaults.
namespace sgsim::scenario {

/// What a cluster section says: a builtin, a file or everything inline, with anything overridden.
struct ClusterSection {
  std::string base;
  cluster::Cluster cluster;
};
/// Reads the members of `section` up to `finish`; paths are relative to `folder`. A cluster file has the same members.
[[nodiscard]] ClusterSection read_cluster_section(ObjectReader& section, const std::string& folder);

[[nodiscard]] ModelSource read_model_section(ObjectReader& section, const std::string& folder);
/// `gpus` resolves dp = "fill".
[[nodiscard]] plan::Plan read_plan_section(ObjectReader& section, int gpus);
[[nodiscard]] lower::Training read_training_section(ObjectReader& section);
/// Prices and failure rates; what is left out stays unknown.
[[nodiscard]] Economics read_economics_section(ObjectReader& section);
[[nodiscard]] EngineChoice read_engine_section(ObjectReader& section);

/// A path as a file inside `folder` means it, absolute.
[[nodiscard]] std::string resolve(const std::string& path, const std::string& folder);

}  // namespace sgsim::scenario
