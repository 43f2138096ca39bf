#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.h"

namespace sgsim::cluster {

/// Names that builtin_cluster takes: "dgx-a100-80gb", "dgx-a100-40gb", "hgx-a100-80gb-4x100g", "dgx-h100", "hgx-h200",
/// "pcie-a100-80gb", "pcie-a100-80gb-nvlink-pairs".
[[nodiscard]] std::vector<std::string> builtin_cluster_names();

/// `nodes` (>= 1) servers of a named kind on a non-blocking rail-optimised fabric (PCIe boxes: a fat tree). Datasheet numbers;
/// the source of each stands beside it. Nothing for an unknown name.
[[nodiscard]] std::optional<Cluster> builtin_cluster(std::string_view name, int nodes);

/// What is wrong with a cluster ("node.gpus is 0; expected at least 1"), one line each; empty: sound. Files and
/// overrides are checked with it.
[[nodiscard]] std::vector<std::string> check_cluster(const Cluster& cluster);

}  // namespace sgsim::cluster
